"""The games of a plan, one by one, as sites are asked to play them."""

from __future__ import annotations

import json
from pathlib import Path

from flgames.errors import UserError
from flgames.runs.folder import GameFolder
from flgames.runs.match import Match
from flgames.runs.runner import phi_game


def games_in(path: Path) -> list[Match]:
    """Those of a run, in the order in which they are played, or the one that a site has kept."""
    file = path / "plan.json" if path.is_dir() else path
    try:
        read = json.loads(file.read_text())
        matches = [Match.model_validate(each) for each in read.get("matches", [read])]
    except (OSError, ValueError, TypeError, AttributeError):
        raise UserError(f"{path} has no plan: it takes a run folder, or a plan.json.") from None
    return [
        game
        for match in matches
        for game in (*(before for before, _ in phi_game(match, GameFolder(Path(), match))), match)
    ]
