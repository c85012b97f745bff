"""What a hostile server asks."""

from __future__ import annotations

from typing import Any

from flgames.data.own.roles import Roles
from flgames.engines.wire import pack, read_answer
from flgames.models.networks import MLP
from flgames.runs.plan import make_plan
from flgames.runs.resolve import resolve

SURVEYED = "surveyed"

GAME = {"variant": "f-fl-games-smooth", "rounds": 3, "stop_below": "never", "against": "none", "threads": 1}
"""What is played afterwards by an honest server."""


def honest_match() -> Any:
    (match,) = make_plan(resolve(dict(GAME)), None).matches
    return match


def questions() -> dict[str, bytes]:
    """Every question by its name."""
    match = honest_match()
    one = _changed(match, config=match.entry.config | {"batch_size": 1})
    wide = _changed(match, network=MLP(width=10**6))
    other = match.model_copy(update={"seed": 7})
    return {
        "another target": _survey("/data", target="age"),
        "names as targets": _survey("/data", target="name"),
        "a folder by its path": _survey("/etc"),
        "batches of one": _introduce(one),
        "a wide network": _introduce(wide),
        "another plan": _introduce(other),
        "a path as a run": _introduce(match, run="../../../../etc"),
        "noise": b"\x00" * 64,
        "nothing that there is": pack({"kind": "shell", "threads": 1}),
    }


def told(reply: bytes) -> str:
    """What came back: an error, or that a survey did."""
    header, tensors = read_answer(reply)
    return header.error or f"{SURVEYED if header.survey else 'answered'} {sorted(header.numbers)} {len(tensors)}"


def _changed(match: Any, **changes: Any) -> Any:
    return match.model_copy(update={"entry": match.entry.model_copy(update=changes)})


def _survey(data: str, **roles: Any) -> bytes:
    return pack({"kind": "survey", "data": data, "roles": Roles(**roles).model_dump(), "threads": 1})


def _introduce(match: Any, run: str = "hostile") -> bytes:
    game = {"run": run, "match": match.model_dump(mode="json"), "threads": 1, "device": "cpu"}
    ask = {"kind": "ask", "task": "introduce", "arguments": {}, "number": 1, "after": None, "news": []}
    return pack(game | ask)
