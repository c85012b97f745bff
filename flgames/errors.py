"""The errors a person can meet, each written for the one who caused it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something the user gave can't be used: one sentence that says what, what is allowed, and what to do.

    It names a knob between backticks, as `batch_size`; the command line turns that into the option's name.

    Examples
    --------
    >>> from flgames import UserError
    >>> issubclass(UserError, ValueError)
    True
    """


class Diverged(Exception):
    """A loss or a weight became NaN or infinite; the message names the round and the player.

    Examples
    --------
    >>> from flgames import Diverged
    >>> raise Diverged("In round 3: the answer of north to 'respond' has NaN in it.")
    Traceback (most recent call last):
    flgames.errors.Diverged: In round 3: the answer of north to 'respond' has NaN in it.
    """


class ClientFailure(Exception):
    """No client answered what the server asked, so that the game can't go on.

    Examples
    --------
    >>> from flgames import ClientFailure
    >>> issubclass(ClientFailure, Exception)
    True
    """


def unknown(what: str, given: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with the nearest that does."""
    names = sorted(known)
    nearest = difflib.get_close_matches(given, names, n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return UserError(f"Unknown {what} {given!r}.{hint} Known: {', '.join(names)}.")
