"""Files that are either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file under a temporary name; it takes its place when everything is written. Who may read it is what the
    umask says."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk does not say of which file
            error.filename = str(path)
        raise


def write_atomically(path: Path, content: bytes | str) -> None:
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: Any) -> None:
    """As people read it: lists of numbers stay on their line."""
    text = json.dumps(value, indent=2, allow_nan=False)
    text = re.sub(r"\[([^\[\]{}\"]*)\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", text)
    write_atomically(path, text + "\n")
