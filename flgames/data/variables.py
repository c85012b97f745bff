"""What the environment says about data: where they may come from, and what may be kept of them."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from flgames.errors import UserError

FOLDER_VARIABLE = "FLGAMES_DATA"
OFFLINE_VARIABLE = "FLGAMES_OFFLINE"
KEEP_VARIABLE = "FLGAMES_KEEP_IMAGES"


def own_folder() -> Path | None:
    """The user's own folder of data, if there is one."""
    own = os.environ.get(FOLDER_VARIABLE)
    if not own:
        return None
    folder = Path(own).expanduser()
    if not folder.is_dir():
        raise UserError(f"{FOLDER_VARIABLE} is {own}, which is not a folder.")
    return folder


def cache_folder() -> Path:
    """Where data are kept: the user's cache, for example ~/.cache/flgames."""
    return platformdirs.user_cache_path("flgames")


def is_offline() -> bool:
    """Whether this machine shall never touch the network."""
    return _is_on(OFFLINE_VARIABLE)


def keeps_images() -> bool:
    """Whether decoded pixels of own images may lie in the cache."""
    return _is_on(KEEP_VARIABLE)


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in ("", "0", "false", "no", "off")
