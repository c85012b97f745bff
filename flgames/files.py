"""Files that are either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file under a temporary name; it takes its place when everything is written."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: bytes | str) -> None:
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: Any) -> None:
    """As people read it: lists of numbers stay on their line."""
    text = json.dumps(value, indent=2, allow_nan=False)
    text = re.sub(r"\[([^\[\]{}\"]*)\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", text)
    write_atomically(path, text + "\n")
