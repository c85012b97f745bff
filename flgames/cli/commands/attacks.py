"""flgames attacks."""

from __future__ import annotations

from pathlib import Path

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes


def attacks(out: options.Results = Path("results")) -> None:
    """Let one of five sites attack the others, with every defence: what do the honest ones get?

    It plays on the embedded digits, in some minutes. Tables are written as OUT/attacks.md and .csv; one that was stopped goes on by the same command.

    For example: flgames attacks
    """
    from flgames.report.attacks import run_attacks
    from flgames.waiting.bar import shown

    console = make_console()
    with exit_codes(), options.results_folder(out), shown(console):
        run_attacks(out, console)
