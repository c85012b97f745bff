"""Environment variables that say where data may come from."""

from __future__ import annotations

import os
from pathlib import Path

from flgames.errors import UserError

FOLDER_VARIABLE = "FLGAMES_DATA"
OFFLINE_VARIABLE = "FLGAMES_OFFLINE"


def own_folder() -> Path | None:
    """The user's own folder of data, if there is one."""
    own = os.environ.get(FOLDER_VARIABLE)
    if not own:
        return None
    folder = Path(own).expanduser()
    if not folder.is_dir():
        raise UserError(f"{FOLDER_VARIABLE} is {own}, which is not a folder.")
    return folder


def is_offline() -> bool:
    """Whether this machine shall never touch the network."""
    return os.environ.get(OFFLINE_VARIABLE, "").lower() not in ("", "0", "false", "no", "off")
