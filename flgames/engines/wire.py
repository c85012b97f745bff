"""What crosses between sites, as bytes: tensors in safetensors' format, everything else as JSON in its header.

The same bytes travel over every engine. Nothing in them can run: there is no pickle to be undone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import safetensors
import safetensors.torch
from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr, ValidationError

from flgames.core.messages import Action, Answer, Ask
from flgames.data.own.survey import Survey
from flgames.models.architecture import Weights

LENGTH = 8
"""Bytes at the beginning that say how long the header is."""

SURVEY = 2**20
"""Bytes that a survey may have: it names classes and columns."""

HEADER = 4096
TENSOR_HEADER = 256
"""What a header may take: for itself, and for each tensor that it names."""


class Unreadable(Exception):
    """These bytes are not what they should be; the message says why."""


class AnswerHeader(BaseModel):
    """What an answer says beside its tensors."""

    model_config = ConfigDict(extra="forbid")

    client: StrictStr
    number: StrictInt
    numbers: dict[str, StrictInt | StrictFloat] = {}
    error: StrictStr | None = None
    """Why there is nothing else."""
    rounds: list[StrictInt] = []
    """The rounds whose state this client has on its disk, where it was asked for them."""
    survey: Survey | None = None
    """What it tells of data of its own, where it was asked for that."""


def pack(header: Mapping[str, Any], tensors: Weights | None = None) -> bytes:
    """A header and tensors as one payload."""
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in (tensors or {}).items()}
    return safetensors.torch.save(on_cpu, {"header": json.dumps(header)})


def unpack(payload: bytes) -> tuple[dict[str, Any], Weights]:
    """The inverse of :func:`pack`."""
    try:
        length = int.from_bytes(payload[:LENGTH], "little")
        header = json.loads(json.loads(payload[LENGTH : LENGTH + length])["__metadata__"]["header"])
        if not isinstance(header, dict):
            raise ValueError("its header is no table")
        # Copies lie where torch would have put them: products of tensors that lie elsewhere may round otherwise.
        return header, {name: tensor.clone() for name, tensor in safetensors.torch.load(payload).items()}
    except (ValueError, KeyError, TypeError, RecursionError, safetensors.SafetensorError) as error:
        raise Unreadable(f"is not in our format ({error})") from None


def pack_ask(ask: Ask, header: Mapping[str, Any]) -> bytes:
    """A question; ``header`` says to which game it belongs."""
    asked = {
        "task": ask.task,
        "arguments": dict(ask.arguments),
        "number": ask.number,
        "after": ask.after,
        "news": [[action.author, action.version] for action in ask.news],
    }
    tensors = {
        f"{place}/{name}": tensor for place, action in enumerate(ask.news) for name, tensor in action.weights.items()
    }
    return pack({**header, **asked}, tensors)


def read_ask(header: Mapping[str, Any], tensors: Weights) -> Ask:
    weights: list[Weights] = [{} for _ in header["news"]]
    for key, tensor in tensors.items():
        place, _, name = key.partition("/")
        weights[int(place)][name] = tensor
    news = tuple(Action(author, version, own) for (author, version), own in zip(header["news"], weights, strict=True))
    return Ask(header["task"], news, header["arguments"], header["number"], header["after"])


def pack_answer(client: str, ask: Ask, answer: Answer) -> bytes:
    return pack({"client": client, "number": ask.number, "numbers": dict(answer.numbers)}, answer.tensors)


def read_answer(payload: bytes) -> tuple[AnswerHeader, Weights]:
    """What a client sent; whether it is what was asked for is for others to say."""
    header, tensors = unpack(payload)
    try:
        return AnswerHeader(**header), tensors
    except ValidationError as error:
        first = error.errors()[0]
        raise Unreadable(f"has a header that is wrong in {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def allowed_bytes(ask: Ask) -> int:
    """What an answer to this may weigh, header and all."""
    return ask.form.bytes + HEADER + TENSOR_HEADER * len(ask.form.tensors)
