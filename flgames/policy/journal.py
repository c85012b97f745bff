"""What a site writes down for its own people. Nothing of it is sent."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

ERRORS = "errors.log"


class Journal:
    """The files of a site's folder:

    ```
    errors.log   what went wrong, in full
    ```
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def explain(self, error: Exception) -> None:
        """What the server hears only a code of."""
        said = "".join(traceback.format_exception(error))
        self._append(ERRORS, f"{_now()}\n{said}\n".encode())

    def _append(self, name: str, content: bytes) -> None:
        """To the end of a file that nobody else can read."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, content)
        finally:
            os.close(file)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
