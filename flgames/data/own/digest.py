"""What own data are, in one short text: another one where anything was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from flgames.data.own.files import clients_in
from flgames.data.own.roles import Roles
from flgames.waiting.told import followed


def digest_of(data: str, roles: Roles) -> str:
    """SHA-256 over the names and the contents of all clients' files, wherever their folder lies.

    Of folders of images it is those files that are looked at.
    """
    folder = Path(data)
    files = sorted(set(_files_in(folder, roles)))
    told = [
        (file.relative_to(folder).as_posix(), _sha256(file))
        for file in followed(files, lambda file: f"looking whether {file.name} is as it was")
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _files_in(folder: Path, roles: Roles) -> Iterator[Path]:
    for name, path in clients_in(folder, roles).items():
        if path.is_dir():
            from flgames.data.own.pictures import pictures_in  # PIL is for those who have images

            yield from pictures_in(name, path).files
        else:
            yield path


def _sha256(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
