"""What a server hears when something goes wrong at a site: a code. What it was about stays at the site.

Texts of errors quote cells of tables, names of files and paths.
"""

from __future__ import annotations

import torch
from pydantic import ValidationError


class Told(Exception):
    """An error whose text has nothing of the site's data in it: the server hears it as it is."""

    code = "failed"


class Refused(Told):
    """The rules of the site forbid it."""

    code = "refused-by-policy"


class OutOfStep(Told):
    """The server believes that this client knows what it doesn't."""

    code = "out-of-step"


class BadQuestion(Told):
    """Nothing that a client can be asked."""

    code = "bad-question"


def code_of(error: Exception) -> str:
    """The kind of an error, in one word."""
    match error:
        case Told():
            return error.code
        case MemoryError() | torch.OutOfMemoryError():
            return "out-of-memory"
        case RuntimeError() if "allocate memory" in str(error):  # what torch says where there is no GPU
            return "out-of-memory"
        case OSError():
            return "no-access"
        case ValidationError() | KeyError() | TypeError():
            return BadQuestion.code
        case ValueError():
            return "bad-data"
    return "failed"


def told_of(error: Exception) -> str:
    """What may leave the site."""
    return f"{code_of(error)}: {error if isinstance(error, Told) else 'the log of the site says why'}"
