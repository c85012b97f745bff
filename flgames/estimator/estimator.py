"""FL Games with the manners of scikit-learn: fit, predict, score, save."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.stopping.rule import StoppingRule, rules
from flgames.data.own import arrays as given
from flgames.data.own.labels import class_name
from flgames.data.own.layout import Layout
from flgames.data.own.records import LaidOut
from flgames.data.own.roles import Kind
from flgames.data.own.table import check_no_measures
from flgames.data.samples import Samples
from flgames.devices import chosen_device
from flgames.errors import UserError
from flgames.estimator import build
from flgames.estimator.build import Module
from flgames.estimator.disagreement import column_table
from flgames.estimator.followers import Bar, History, shown_if
from flgames.estimator.inputs import feeds, names_of, ready_of, rows_for
from flgames.estimator.knobs import OF_A_RUN, implied, parameters, with_knobs
from flgames.estimator.saved import SavedModel, label_array, write_model
from flgames.evaluation.export import OUTPUTS, ExportedModel
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.settled.config import SettledConfig
from flgames.methods.settled.server import Settled
from flgames.models.architecture import Architecture, MakesOptimiser
from flgames.models.ensemble import Ensemble
from flgames.runs.presets import BALANCED
from flgames.runs.settings import Settings, check_game, checked, choose_rule

_CHOOSING = tuple(each.chosen_by for each in rules().values() if each.chooses_round)


class FLGames(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Federated learning whose model keeps working on clients it has never seen.

    Each client is a player with its own predictor on a shared representation; the players answer each other until
    what differs between the clients cancels. All clients are in this process here; docs/across-sites.md is for
    several machines.

    Parameters
    ----------
    representation
        The shared representation phi: a module or a function that makes one. One whose parameters don't require
        gradients is used as it is, and what it makes of the samples is computed once; any other is learnt. None: the
        identity for tables, convolutions for images.
    predictor
        Makes a player's predictor from the number of features: ``lambda d: nn.Linear(d, 2)``; or ``"linear"`` or
        ``"mlp"``, the paper's perceptron. None: a linear layer. Of players that are one linear layer, others are told
        the mean only.
    players
        Where a game is settled (the default for images, and what ``settle=True`` asks for), ``representation`` and
        ``predictor`` are the network that is trained in the end, and this is what finds the shortcut: a module on the
        inputs, or a function that makes one. None: the paper's perceptron.
    fast
        Move phi by full-batch gradients.
    optimiser, phi_optimiser
        Of players and of phi: functions from parameters to a ``torch.optim.Optimizer``; None: Adam.
    class_weight
        None, ``"balanced"`` or a weight for every class.
    classes
        The labels that there are, if not all of them occur.
    callbacks
        Who hears of every round: see :class:`flgames.Callback`.
    knobs
        Every knob of a game and of its stopping rules, under the name that it has on the command line, such as
        ``schedule``, ``memory``, ``learning_rate``, ``batch_size``, ``rounds``, ``ensemble``, ``settle``,
        ``settle_after``, ``validation``, ``early``, ``patience``, ``stop_below``, ``device`` and ``seed``. ``flgames
        play --help`` explains them, and ``FLGames().get_params()`` shows their values; None leaves them to the data. A
        share ``validation`` of every client's samples is held back to choose the round by. Tables with linear players
        and settled games return an early round (the rule ``early``), all others the best one (``patience``);
        ``stop_below`` is the paper's rule; ``"never"`` plays all rounds.

    Attributes
    ----------
    classes_ : the labels, in the order of the columns of ``predict_proba``
    feature_names_in_ : the columns of the tables, if they were DataFrames
    players_ : every client's predictor, by name; of a settled game the one network that was trained
    model_ : the ensemble with its preprocessing, an ``nn.Module`` from raw inputs to probabilities
    history_ : a :class:`~flgames.core.records.RoundRecord` for every round
    disagreement_ : of tables, a DataFrame with a row a column: how far players and sites disagree about it, and how
        much the model uses it; see :class:`~flgames.evaluation.columns.ColumnEvidence`
    result_ : a :class:`~flgames.core.records.GameResult`: how the game ended, which round was chosen, every client's
        figures on samples that were held back, and what the clients disagree about

    Examples
    --------
    >>> import torch
    >>> from flgames import FLGames
    >>> clients = {name: (torch.randn(60, 4), torch.arange(60) % 2) for name in ("north", "south")}
    >>> model = FLGames(rounds=3).fit(clients)
    >>> model.predict(torch.randn(2, 4)).shape
    (2,)
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  # where scikit-learn routes metadata, fit asks for this

    @with_knobs
    def __init__(
        self,
        representation: Module | None = None,
        predictor: Module | str | None = None,
        *,
        players: Module | None = None,
        fast: bool = False,
        optimiser: MakesOptimiser | None = None,
        phi_optimiser: MakesOptimiser | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        classes: Sequence[Any] | None = None,
        callbacks: Sequence[Callback] = (),
        **knobs: Any,
    ) -> None:
        self.representation = representation
        self.predictor = predictor
        self.players = players
        self.fast = fast
        self.optimiser = optimiser
        self.phi_optimiser = phi_optimiser
        self.class_weight = class_weight
        self.classes = classes
        self.callbacks = callbacks
        known = parameters()
        for name in knobs:
            if name not in known:
                raise TypeError(f"FLGames has no parameter {name!r}; it has {', '.join(self._get_param_names())}.")
        for name, value in (known | knobs).items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any = None, groups: Any = None, progress: bool = False) -> Self:  # noqa: N803
        """Play a game between clients.

        Parameters
        ----------
        X, y, groups
            ``{name: (X, y)}`` or ``{name: dataset}`` with a map-style dataset of (input, label); or arrays and the
            client of every row. A DataFrame may have words, dates, truths and empty cells, and its columns any order.
        progress
            Show a bar with the rounds done and the time left if all are played; where there is no terminal, a line
            now and then.
        """
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise UserError(f"A callback is a flgames.Callback; {type(callback).__name__} is none: subclass it.")
        records = given.as_records(X, y, groups)
        if len(records) < 2:
            raise UserError(f"A game needs two clients at least, and there is {len(records)}.")
        surveys = {name: each.survey() for name, each in records.items()}
        for name, survey in surveys.items():
            check_no_measures(name, survey.samples, "y")
        labels = build.labels_of(records, self.classes)
        given.check_shapes(surveys)
        layout = Layout.of(surveys, classes=tuple(map(class_name, labels)))
        raw = self.representation is not None
        ready, scale = ready_of(layout, surveys, raw)
        self._set_up(layout.shape, labels, ready, layout if layout.columns else None, names_of(records))
        # Modules of one's own are given raw inputs; the perceptrons that find a shortcut for them need others.
        self._players_ready = scale if raw else None
        trained = (nn.Identity() if raw else scale) if layout.columns else self._ready
        samples = {name: LaidOut.of(each, layout, trained) for name, each in records.items()}
        modules = self._modules(build.class_weights(self.class_weight, surveys, labels))
        build.check_outputs(modules, samples, len(labels))
        told = {name: getattr(self, name) for name in OF_A_RUN}
        left = self._implied()
        run = checked(Settings, {name: left.get(name) if each is None else each for name, each in told.items()})
        self._play(modules, samples, run, progress)
        return self

    def _play(self, modules: Architecture, samples: Mapping[str, Samples], run: Settings, progress: bool) -> None:
        device = chosen_device(run.device)
        method = self._method(modules, samples, run, device)
        warm_start = method.warm_start({name: len(each) for name, each in samples.items()})
        rule = self._rule()
        if rule and rule.chooses_round:  # it must see a round that it can choose
            warm_start = min(warm_start, run.rounds - 1)
        federation = LocalFederation.of(method, samples, run.seed, device, run.validation)
        play = Play(method, federation, seed=run.seed, rounds=run.rounds, rule=rule, warm_start=warm_start)
        play.start()
        history = History()
        info = GameInfo("fl-games", "FL Games", run.seed, run.rounds, rule.brief if rule else "plays all rounds")
        with Bar(progress) as bar:
            followers = [history, bar, *self.callbacks]
            for each in followers:
                each.on_start(info)
            play.run(followers)
        self.history_ = history.records
        self._finish(play, run.rounds)
        by_players = isinstance(method, Settled) and method.evidence(play.server)
        found_by = method.game.ensemble(play.server).cpu() if isinstance(method, Settled) and by_players else None
        ensemble, result = self.model_.ensemble, self.result_
        with shown_if(progress):
            self.disagreement_: Any = column_table(
                samples, self._layout, ensemble, found_by, result, run.validation, run.seed, len(self._numbers)
            )

    def _method(
        self, modules: Architecture, samples: Mapping[str, Samples], run: Settings, device: torch.device
    ) -> Game | Settled:
        config = self._config(modules)
        if isinstance(config, SettledConfig):
            if run.rounds <= config.settle_after:
                raise UserError(
                    f"rounds={run.rounds} leave none for training after the game's settle_after={config.settle_after}."
                )
            players = build.players(self.players, self.input_shape_, modules, len(self._numbers), self._players_ready)
            build.check_outputs(players, samples, len(self._numbers))
            return Settled(modules, config, players)
        if self.players is not None:
            raise UserError("players are for settled games, which find a shortcut by them: settle=True.")
        first_phi = None
        if self._is_default_images and run.phi_rounds:
            first_phi = build.trained_phi(modules, samples, run, self.batch_size, device)
        return Game(modules, config, first_phi)

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probability of every class, in the order of ``classes_``."""
        self._check_is_fitted()
        inputs, expected = rows_for(self, X), self._layout.raw_shape if self._layout else self.input_shape_
        if tuple(inputs.shape[1:]) != tuple(expected):
            raise UserError(f"Inputs have the shape {tuple(inputs.shape[1:])}, and the model's {expected}.")
        with torch.inference_mode():
            rows = [self._probabilities(batch) for batch in given.batches(inputs)]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.classes_)))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The most probable label."""
        most = self.predict_proba(X).argmax(1)
        labels: np.ndarray = self.classes_[most]
        return labels

    def save(self, folder: str | Path) -> None:
        """Write the model: ``model.json``, ``weights.safetensors`` and, with the extra ``export``, ``model.onnx``."""
        self._check_is_fitted(trainable=True)
        write_model(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, representation: Module | None = None, predictor: Module | None = None) -> Self:
        """A model that was saved: trainable, if its modules are passed again or were the default ones; or else one
        that predicts, from the exported graph. Nothing is unpickled."""
        saved = SavedModel.read(Path(folder))
        passed = {"representation": representation, "predictor": predictor}
        model = cls(**saved.params | {name: module for name, module in passed.items() if module is not None})
        model.result_, model.disagreement_ = saved.result, saved.disagreement()
        if any(passed[name] is None for name in saved.own_modules):
            model._set_up(saved.shape, saved.labels, None, saved.layout, saved.names)
            model._session = saved.session()
            return model
        ready, learnt = saved.ready(raw=representation is not None), saved.learnt()
        model._set_up(saved.shape, saved.labels, ready, saved.layout, saved.names)
        modules = model._modules()
        model._keep(Ensemble.from_tensors(modules.joined() if model._settles_games else modules, learnt))
        return model

    # What follows is how a game is set up.

    @property
    def _is_default_images(self) -> bool:
        return self.representation is None and self.predictor is None and len(self.input_shape_) == 3

    def _set_up(
        self,
        shape: tuple[int, ...],
        labels: Sequence[Hashable],
        ready: nn.Module | None,
        layout: Layout | None = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.input_shape_ = shape
        self._layout, self._names = layout, names or ()
        self.n_features_in_ = len(names) if names else math.prod(shape)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = label_array(labels)
        self._numbers = {label: number for number, label in enumerate(labels)}
        self._ready = ready or nn.Identity()
        self._session: Any = None

    def _modules(self, weights: Sequence[float] | None = None) -> Architecture:
        own = self.optimiser, self.phi_optimiser
        return build.architecture(
            self.representation,
            self.predictor,
            self.input_shape_,
            len(self._numbers),
            weights,
            *own,
            settles=self._settles_games,
        )

    @property
    def _settles_games(self) -> bool:
        """Whether a game is settled, and a network trained after it; linear players on tables are settled without."""
        if self.settle is None:
            plain = self.optimiser is None and self.phi_optimiser is None and not (self.fast or self.full_batch)
            return self._is_default_images and plain and self.ensemble != "balanced"
        return self.settle not in ("never", False) and not self._is_linear

    @property
    def _is_linear(self) -> bool:
        """Whether players are one linear layer on the inputs."""
        if self.representation is not None or self._is_default_images:
            return False
        return build.is_linear_on(self.predictor, self.input_shape_)

    def _implied(self) -> dict[str, object]:
        """What the data and the players imply for all that is left to them."""
        kind: Kind = "images" if len(self.input_shape_) == 3 else "table"
        found = implied(kind, "linear" if self._is_linear else "mlp", self._settles_games)
        if self.ensemble == "balanced":  # it needs no lucky round, and samples that players don't know by heart
            needed = {name: value for name, value in found.items() if name not in ("settle", *_CHOOSING)}
            return {**needed, **BALANCED}
        return found

    def _config(self, modules: Architecture) -> FLGamesConfig | SettledConfig:
        if self._settles_games:
            return self._settled_config()
        phi = modules.representation()
        learnt = not self._is_default_images and any(parameter.requires_grad for parameter in phi.parameters())
        if self.fast and not learnt:
            raise UserError("fast moves phi by full-batch gradients, and here phi has nothing to learn.")
        default = parameters() | self._implied()
        given = {name: getattr(self, name) for name in FLGamesConfig.model_fields if name in parameters()}
        values = {name: default.get(name) if value is None else value for name, value in given.items()}
        if self.settle is None and (self.full_batch or values["settle"] is None):
            values["settle"] = "never"
        if self.fast:
            values["phi_batches"] = "all"
        config = checked(FLGamesConfig, values | {"representation": "variable" if learnt else "fixed"})
        check_game(config)
        return config

    def _settled_config(self) -> SettledConfig:
        for name in ("optimiser", "phi_optimiser", "fast"):
            if getattr(self, name):
                raise UserError(f"`{name}` is for games that are not settled: leave it out, or `settle`.")
        default = parameters() | self._implied()
        given = {name: getattr(self, name) for name in SettledConfig.model_fields if name in parameters()}
        values = {name: default.get(name) if value is None else value for name, value in given.items()}
        config = checked(SettledConfig, values | {"representation": "fixed"})
        check_game(config)
        return config

    def _rule(self) -> StoppingRule | None:
        """The rule that the parameters choose, if they say anything of one; or else the one that the data imply."""
        names = [name for each in rules().values() for name in each.knobs()]
        values = {name: getattr(self, name) for name in names}
        if all(values[each.chosen_by] is None for each in rules().values()):
            default = self._implied()
            values |= {each.chosen_by: default.get(each.chosen_by) for each in rules().values()}
        rule = choose_rule(values)
        if rule and rule.chooses_round and self.ensemble == "balanced":
            raise UserError("`ensemble` balanced needs no rule that chooses a round: leave `early` and `patience` out.")
        return rule

    def _finish(self, play: Play, rounds: int) -> None:
        self.result_ = play.result(self.history_)
        if self.result_.end == "rounds" and play.rule:
            warnings.warn(
                f"rounds={rounds} ended the game before its rule did; a later round may be better.", stacklevel=4
            )
        self._keep(play.chosen())
        for callback in self.callbacks:
            callback.on_end(self.result_)

    def _keep(self, ensemble: Ensemble) -> None:
        self.model_ = ExportedModel(self._ready, ensemble.cpu(), self.result_.temperature)
        self.players_ = dict(zip(ensemble.names, ensemble.players, strict=True))

    def _probabilities(self, batch: Tensor) -> np.ndarray:
        if self._session is not None:
            (found,) = self._session.run([OUTPUTS], feeds(batch, self._layout))
            return np.asarray(found)
        probabilities: np.ndarray = self.model_(batch.float()).numpy()
        return probabilities

    def _check_is_fitted(self, trainable: bool = False) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError("This FLGames has not been fitted: call fit first, or load a model.")
        if trainable and not hasattr(self, "model_"):
            raise UserError("This model was loaded to predict only: load it with its modules to save it again.")
