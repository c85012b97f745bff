"""States and models as files that know what they are of, and that are noticed when they were damaged.

A seal says of which match, seed, round and client a file is, and has the SHA-256 of that and of the content. A state
begins with its seal, as a line of JSON; a model has it in the header of its safetensors. Files that others read, such
as exports, have their sums in a file beside them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from flgames.errors import UserError
from flgames.files import write_atomically

FORMAT = 1
"""Of sealed files."""

KEY = "flgames"
"""What the seal is called in the header of safetensors."""

LONGEST = 4096
"""Bytes that a seal has at most."""

SUMS = "SHA256SUMS"
"""The file with the SHA-256 of those beside it."""

DIGITS = 64
"""Of a SHA-256."""


class Damaged(UserError):
    """A file is not as it was written, or not what it should be."""


@dataclass(frozen=True)
class Seal:
    """What a file is of."""

    match: str
    """The key of the match, which has everything in it that decides a game."""
    seed: int
    round: int
    client: str = ""
    """Whose state it is; "": the server's."""

    def line(self, digest: str) -> str:
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self), "sha256": digest})


def write_state(path: Path, state: Mapping[str, object], seal: Seal) -> None:
    """A state under its seal."""
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    payload = buffer.getvalue()
    write_atomically(path, f"{seal.line(_digest(seal, payload))}\n".encode() + payload)


def read_state(path: Path, seal: Seal, device: torch.device | None = None) -> dict[str, object]:
    """The state that was written under this seal."""
    head, _, payload = _content(path).partition(b"\n")
    if head != seal.line(_digest(seal, payload)).encode():
        raise _wrong(path, seal, head)
    state: dict[str, object] = torch.load(io.BytesIO(payload), weights_only=True, map_location=device)
    return state


def round_of(path: Path) -> int | None:
    """The round that a state says it is of; None if there is none, or if it does not say so."""
    try:
        with open(path, "rb") as file:
            said = json.loads(file.readline(LONGEST))
        return int(said["round"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_tensors(path: Path, tensors: Mapping[str, Tensor], seal: Seal) -> None:
    """Tensors with their seal in the header."""
    empty = seal.line("0" * DIGITS)
    content = safetensors.torch.save(dict(tensors), {KEY: empty})
    digest = hashlib.sha256(content).hexdigest()
    place = content.index(b"0" * DIGITS)
    write_atomically(path, content[:place] + digest.encode() + content[place + DIGITS :])


def read_tensors(path: Path, seal: Seal) -> dict[str, Tensor]:
    """The tensors that were written under this seal."""
    content = _content(path)
    header = _header(content)
    said = str(header.get("__metadata__", {}).get(KEY, ""))
    digest = said[-DIGITS - 2 : -2]
    place = content.find(digest.encode()) if digest else -1
    zeroed = content[:place] + b"0" * DIGITS + content[place + DIGITS :]
    if place < 0 or said != seal.line(hashlib.sha256(zeroed).hexdigest()):
        raise _wrong(path, seal, said.encode())
    tensors: dict[str, Tensor] = safetensors.torch.load(content)
    # Players have the order in which the file has them.
    return {name: tensors[name] for name in sorted(tensors, key=lambda name: header[name]["data_offsets"][0])}


def write_sums(folder: Path, names: Iterable[str]) -> None:
    """The SHA-256 of these files beside them, as ``sha256sum -c SHA256SUMS`` reads it; others that it has stay."""
    sums = _sums(folder) if (folder / SUMS).exists() else {}
    sums |= {name: hashlib.sha256(_content(folder / name)).hexdigest() for name in names}
    write_atomically(folder / SUMS, _as_text(sums))


def check_sums(folder: Path) -> bool:
    """Refuse files of a folder that are not as they were written; False: it has no SHA-256 of them."""
    if not (folder / SUMS).exists():
        return False
    for name, digest in _sums(folder).items():
        if hashlib.sha256(_content(folder / name)).hexdigest() != digest:
            raise Damaged(f"{folder / name} is damaged: its SHA-256 is not the one in {SUMS}.")
    return True


def _sums(folder: Path) -> dict[str, str]:
    try:
        text = _content(folder / SUMS).decode()
        sums = {name: digest for digest, name in (line.split("  ") for line in text.splitlines())}
        if text == _as_text(sums):
            return sums
    except ValueError:
        pass
    raise Damaged(f"{folder / SUMS} is damaged: it has lines that are no sums.")


def _as_text(sums: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def _header(content: bytes) -> dict[str, dict[str, list[int]]]:
    """That of safetensors; empty if there is none."""
    try:
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        return header if all(isinstance(each, dict) for each in header.values()) else {}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _digest(seal: Seal, payload: bytes) -> str:
    digest = hashlib.sha256(seal.line("").encode())
    digest.update(payload)
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Damaged(f"{path} can't be read: {error.strerror}.") from None


def _wrong(path: Path, seal: Seal, head: bytes) -> Damaged:
    """Why a file is refused."""
    try:
        said = json.loads(head)
        if said["format"] != FORMAT:
            return Damaged(f"{path} has the format {said['format']}, and this version of flgames reads {FORMAT}.")
        found = {name: said[name] for name in dataclasses.asdict(seal)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return Damaged(f"{path} is damaged, or of a version of flgames that sealed no files: it has no SHA-256.")
    if found != dataclasses.asdict(seal):
        return Damaged(f"{path} is damaged, or of another game: it says {found}, and should be {seal}.")
    return Damaged(f"{path} is damaged: its SHA-256 is not the one that it was written with.")
