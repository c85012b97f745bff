"""The rules of a site: a file of its own, site.toml, and what holds where there is none."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flgames.core.knobs import Plain
from flgames.errors import UserError

SITE_VARIABLE = "FLGAMES_SITE"
"""Where a site's rules are, unless the engine's own configuration of the site names them."""

SIMULATED_VARIABLE = "FLGAMES_SIMULATED"
"""Set by whoever starts a simulation: server and sites are one person's, on one machine, and nothing leaves it."""


class _Rules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DataRules(_Rules):
    """Which data are used, and what their columns are for."""

    path: Path | None = None
    """Where they are. A path that is not absolute begins at the file."""
    target: str | None = None
    """The one column that can be asked to be predicted."""
    client_column: str | None = None
    """The one column that can be asked to say whose a row is."""
    columns: tuple[str, ...] = ()
    """The only inputs; empty: all that the table has."""
    from_server: bool = False
    """Whether a folder that the server names is looked at, where this site has no path of its own."""
    any_column: bool = False
    """Whether the server may choose the target and the client column."""
    keep_images: bool | None = False
    """Whether decoded pixels may lie in the user's cache, outside of the folder. None, in Python: as the environment
    says, which a file can't say."""


class SurveyRules(_Rules):
    """What is told of the data before a game."""

    most_classes: int = Field(default=100, ge=2)
    min_count: int = Field(default=5, ge=1)
    """Samples that a class, or a word, needs to be named."""


class GameRules(_Rules):
    """Which games are played. A batch, or a client, of few samples has gradients that tell its rows."""

    min_batch_size: int = Field(default=8, ge=1)
    min_samples: int = Field(default=20, ge=1)
    """That are trained on."""
    min_held_back: int = Field(default=5, ge=1)
    """That a model is judged by, where some are held back."""
    secret_order: bool = True
    """Whether this site draws batches of its own data by a secret, and not by the server's seed. Whoever knows which
    samples are in which batch can solve for the gradient of each, however large batches are."""
    methods: tuple[str, ...] = ()
    """Empty: all that there are."""
    settings: dict[str, tuple[Plain, ...]] = {}
    """Values that a setting of a method may have, by its name; others may have any."""
    plans: tuple[str, ...] = ()
    """Hashes of the games that are played, as `flgames site plan` prints them; empty: any."""
    max_threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """More are not used, whatever is asked for."""
    max_width: int = Field(default=4096, ge=1)
    """Of a layer: neurons or channels."""
    max_layers: int = Field(default=16, ge=1)
    max_side: int = Field(default=512, ge=1)
    """Pixels of an image."""
    max_features: int = Field(default=20_000, ge=1)
    """Of a table."""
    max_payload_mb: int = Field(default=256, ge=1)
    """Of a question."""


class LimitRules(_Rules):
    """How often, and how much is kept. Of each None, in Python, is any number: a file can't say so, but 0 is none."""

    games_a_day: int | None = Field(default=1000, ge=0)
    """That are begun. Five methods with five seeds, where each of ten sites is held out once, are 225 at a site."""
    games_in_all: int | None = Field(default=None, ge=0)
    surveys_a_day: int | None = Field(default=50, ge=0)
    """Each tells sums over all rows: of two, with a row between them, the row can be told."""
    surveys_in_all: int | None = Field(default=None, ge=0)
    plans_in_all: int | None = Field(default=10_000, ge=1)
    """Files that are kept of what a server wanted to play."""
    max_disk_mb: int | None = Field(default=10_000, ge=1)
    """Of states and journal: no game is begun beyond that."""


class Rules(_Rules):
    """All of them."""

    data: DataRules = DataRules()
    survey: SurveyRules = SurveyRules()
    game: GameRules = GameRules()
    limits: LimitRules = LimitRules()
    errors: Literal["codes", "texts"] = "codes"
    """What the server hears of an error. Texts may quote cells and paths."""
    journal: bool = True
    """Whether every question and every plan is written down."""


OPEN = Rules(
    data=DataRules(from_server=True, any_column=True, keep_images=None),
    survey=SurveyRules(most_classes=sys.maxsize, min_count=1),
    game=GameRules(
        min_batch_size=1,
        min_samples=1,
        min_held_back=1,
        secret_order=False,
        max_threads=sys.maxsize,
        max_width=sys.maxsize,
        max_layers=sys.maxsize,
        max_side=sys.maxsize,
        max_features=sys.maxsize,
        max_payload_mb=sys.maxsize,
    ),
    limits=LimitRules(games_a_day=None, surveys_a_day=None, plans_in_all=None, max_disk_mb=None),
    errors="texts",
    journal=False,
)
"""No rules: for simulations, where nobody is to be kept from anything."""


def rules_of_site(told: str | Path | None = None) -> Rules:
    """A site's rules: in the file that its engine's configuration names, or else its environment; else the defaults."""
    if told:
        return read_rules(Path(told))
    if os.environ.get(SIMULATED_VARIABLE):
        return OPEN
    named = os.environ.get(SITE_VARIABLE)
    return read_rules(Path(named)) if named else Rules()


def read_rules(path: Path) -> Rules:
    """The rules in a file. What is misspelled is refused: a rule that is not kept is worse than none."""
    try:
        rules = Rules.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    if rules.data.path is None:
        return rules
    data = rules.data.model_copy(update={"path": path.parent / rules.data.path})
    return rules.model_copy(update={"data": data})
