"""FL Games with the manners of scikit-learn: fit, predict, score, save."""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors.torch
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor, nn

from flgames import assembly
from flgames import inputs as given
from flgames.assembly import Module
from flgames.data.own.source import NAME as OWN_DATA
from flgames.deployed import INPUTS, OUTPUTS, Deployed
from flgames.devices import chosen_device
from flgames.engines.local import LocalFederation
from flgames.errors import UserError
from flgames.files import write_json
from flgames.methods.fl_games import Game
from flgames.models import Architecture, Ensemble
from flgames.play import Observers, Play, Round
from flgames.presets import LEARNING_RATES, PATIENCE, PHI_ROUNDS
from flgames.rules import Rules
from flgames.standardise import Standardise
from flgames.stopping import BIAS_PENALTY, SPREAD_PENALTY, BestRound, Rule, StopBelow, warm_start_rounds
from flgames.tracking import Callback

NOT_SAVED = ("representation", "predictor", "optimiser", "phi_optimiser", "callbacks", "class_weight")
"""What has no plain value."""


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
        identity for tables; for images convolutions that ``phi_rounds`` of FedAvg train before the game.
    predictor
        Makes a player's predictor from the number of features: ``lambda d: nn.Linear(d, 2)``. None: a linear layer on
        a representation, or else the paper's perceptron.
    schedule
        ``"simultaneous"``, ``"clockwise"`` or ``"random"``.
    memory, memory_mode
        How many actions of every opponent a player answers to (0: the last one only), and how.
    fast
        Move phi by full-batch gradients.
    learning_rate, phi_learning_rate, optimiser, phi_optimiser
        Of players and of phi. An optimiser is a function from parameters to a ``torch.optim.Optimizer``; None: Adam.
    class_weight
        None, ``"balanced"`` or a weight for every class.
    classes
        The labels that there are, if not all of them occur.
    rounds, patience, spread_penalty, bias_penalty
        The model of the round with the highest accuracy - spread_penalty x (best - worst client) - bias_penalty x bias
        is returned; the game ends when none has been better for ``patience`` rounds, or after ``rounds``.
    stop_below
        The paper's rule instead: stop when training accuracy falls below this.
    callbacks
        Objects with ``on_round(line)`` and ``on_end(result)``: see :class:`flgames.tracking.Callback`.

    Attributes
    ----------
    classes_ : the labels, in the order of the columns of ``predict_proba``
    players_ : every client's predictor, by name
    model_ : the ensemble with its preprocessing, an ``nn.Module`` from raw inputs to probabilities
    history_ : a line of measures for every round
    result_ : how the game ended, and which round was chosen

    Examples
    --------
    >>> import torch
    >>> from flgames import FLGames
    >>> clients = {name: (torch.randn(60, 4), torch.arange(60) % 2) for name in ("north", "south")}
    >>> model = FLGames(rounds=3).fit(clients)
    >>> model.predict(torch.randn(2, 4)).shape
    (2,)
    """

    def __init__(
        self,
        representation: Module | None = None,
        predictor: Module | None = None,
        *,
        schedule: str = "simultaneous",
        memory: int = 5,
        memory_mode: str = "history",
        fast: bool = False,
        participation: float = 1.0,
        local_steps: int | str = 1,
        batch_size: int = 256,
        learning_rate: float | None = None,
        phi_learning_rate: float = 2.5e-5,
        phi_rounds: int = PHI_ROUNDS,
        optimiser: Callable[..., torch.optim.Optimizer] | None = None,
        phi_optimiser: Callable[..., torch.optim.Optimizer] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        classes: Sequence[Any] | None = None,
        rounds: int = 500,
        patience: int = PATIENCE,
        spread_penalty: float = SPREAD_PENALTY,
        bias_penalty: float = BIAS_PENALTY,
        stop_below: float | None = None,
        callbacks: Sequence[Callback] = (),
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.representation = representation
        self.predictor = predictor
        self.schedule = schedule
        self.memory = memory
        self.memory_mode = memory_mode
        self.fast = fast
        self.participation = participation
        self.local_steps = local_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.phi_learning_rate = phi_learning_rate
        self.phi_rounds = phi_rounds
        self.optimiser = optimiser
        self.phi_optimiser = phi_optimiser
        self.class_weight = class_weight
        self.classes = classes
        self.rounds = rounds
        self.patience = patience
        self.spread_penalty = spread_penalty
        self.bias_penalty = bias_penalty
        self.stop_below = stop_below
        self.callbacks = callbacks
        self.device = device
        self.seed = seed

    def fit(self, X: Any, y: Any = None, groups: Any = None, progress: bool = False) -> Self:  # noqa: N803
        """Play a game between clients.

        Parameters
        ----------
        X, y, groups
            ``{name: (X, y)}`` or ``{name: dataset}`` with a map-style dataset of (input, label); or arrays and the
            client of every row.
        progress
            Show a bar.
        """
        clients = given.as_clients(X, y, groups)
        if len(clients) < 2:
            raise UserError(f"A game needs two clients at least, and there is {len(clients)}.")
        facts = {name: given.look_through(name, data) for name, data in clients.items()}
        shape = given.check_alike(facts)
        labels = assembly.labels_of(facts, self.classes)
        self._set_up(shape, labels, given.ready_for(facts, shape) if self.representation is None else None)
        device = chosen_device(self.device)
        samples = {name: given.Encoded(data, self._numbers, self._ready) for name, data in clients.items()}
        modules = self._modules(assembly.class_weights(self.class_weight, facts, labels))
        assembly.check_outputs(modules, samples, len(labels))
        method = Game(modules, self._rules(modules))
        if self._is_default_images and self.phi_rounds:
            rounds = self.phi_rounds
            method.first_phi = assembly.trained_phi(modules, samples, rounds, self.batch_size, self.seed, device)
        play = Play(
            method,
            LocalFederation.of(method, samples, self.seed, device),
            seed=self.seed,
            rounds=self.rounds,
        )
        play.start()
        play.rule = self._rule(method.rules, play.server.samples)
        self.history_: list[dict[str, Any]] = []
        with _bar(progress, self.rounds) as bar:

            def heard(round_: Round) -> None:
                line = round_.as_dict()
                self.history_.append(line)
                bar(line)
                for callback in self.callbacks:
                    callback.on_round(line)

            end = play.run(Observers(heard))
        self._finish(play, end)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probability of every class, in the order of ``classes_``."""
        self._check_is_fitted()
        inputs = given.rows_of(X)
        if tuple(inputs.shape[1:]) != tuple(self.input_shape_):
            raise UserError(f"Inputs have the shape {tuple(inputs.shape[1:])}, and the model's {self.input_shape_}.")
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
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        params = {
            name: _jsonable(value)
            for name, value in self.get_params(deep=False).items()
            if name not in NOT_SAVED or isinstance(value, str)
        }
        own = [name for name in ("representation", "predictor") if getattr(self, name) is not None]
        write_json(
            path / "model.json",
            {
                "params": params,
                "own modules": own,
                "classes": [_jsonable(label) for label in self.classes_.tolist()],
                "input shape": list(self.input_shape_),
                "result": self.result_,
            },
        )
        deployed = copy.deepcopy(self.model_).cpu()
        deployed.write_safetensors(path / "weights.safetensors")
        try:
            deployed.write_onnx(path / "model.onnx", self.input_shape_)
        except Exception as why:  # torch's exporter fails in many ways on modules that it does not know
            if own:
                warnings.warn(f"There is no model.onnx, so load needs your modules again: {why}", stacklevel=2)

    @classmethod
    def load(cls, folder: str | Path, representation: Module | None = None, predictor: Module | None = None) -> Self:
        """A model that was saved: trainable, if its modules are passed again or were the default ones; or else one
        that predicts, from the exported graph. Nothing is unpickled."""
        path = Path(folder)
        try:
            saved = json.loads((path / "model.json").read_text())
        except (OSError, ValueError):
            raise UserError(f"{path} has no model: there is no readable model.json.") from None
        passed = {"representation": representation, "predictor": predictor}
        model = cls(representation, predictor, **saved["params"])
        model.result_ = saved["result"]
        shape, labels = tuple(saved["input shape"]), list(saved["classes"])
        if any(passed[name] is None for name in saved["own modules"]):
            model._set_up(shape, labels, None)
            model._session = _onnx_session(path / "model.onnx", saved["own modules"])
            return model
        tensors = safetensors.torch.load_file(path / "weights.safetensors")
        ready = {name.removeprefix("ready/"): each for name, each in tensors.items() if name.startswith("ready/")}
        first = Standardise(shape) if ready else None
        if first:
            first.load_state_dict(ready)
        model._set_up(shape, labels, first)
        learnt = {name: each for name, each in tensors.items() if not name.startswith("ready/")}
        model._keep(Ensemble.from_tensors(model._modules(), learnt))
        return model

    # What follows is how a game is set up.

    @property
    def _is_default_images(self) -> bool:
        return self.representation is None and self.predictor is None and len(self.input_shape_) == 3

    def _set_up(self, shape: tuple[int, ...], labels: Sequence[Hashable], ready: nn.Module | None) -> None:
        self.input_shape_ = shape
        self.n_features_in_ = math.prod(shape)
        self.classes_ = _label_array(labels)
        self._numbers = {label: number for number, label in enumerate(labels)}
        self._ready = ready or nn.Identity()
        self._session: Any = None

    def _modules(self, weights: Tensor | None = None) -> Architecture:
        own = self.optimiser, self.phi_optimiser
        return assembly.architecture(
            self.representation, self.predictor, self.input_shape_, len(self._numbers), weights, *own
        )

    def _rules(self, modules: Architecture) -> Rules:
        phi = modules.representation()
        learnt = not self._is_default_images and any(parameter.requires_grad for parameter in phi.parameters())
        if self.fast and not learnt:
            raise UserError("fast moves phi by full-batch gradients, and here phi has nothing to learn.")
        return Rules(
            representation="variable" if learnt else "fixed",
            schedule=self.schedule,  # type: ignore[arg-type]
            participation=self.participation,
            memory=self.memory,
            memory_mode=self.memory_mode,  # type: ignore[arg-type]
            local_steps=self.local_steps,
            phi_batches="all" if self.fast else 1,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate or LEARNING_RATES[OWN_DATA][0],
            phi_learning_rate=self.phi_learning_rate,
        )

    def _rule(self, rules: Rules, samples: Mapping[str, int]) -> Rule:
        warm_start = warm_start_rounds(rules, samples)
        if self.stop_below is not None:
            return StopBelow(self.stop_below, warm_start)
        return BestRound(min(warm_start, self.rounds - 1), self.patience, self.spread_penalty, self.bias_penalty)

    def _finish(self, play: Play, end: str) -> None:
        train = play.exact_measure()
        self.result_: dict[str, Any] = {
            "end": end,
            "rule": str(play.rule),
            "rounds": play.next_round,
            "chosen_round": play.kept.round if play.kept else play.next_round - 1,
            "train": train.accuracy,
            "train_of": {name: counts.accuracy for name, counts in train.clients.items()},
            "confusion_of": {name: counts.confusion.tolist() for name, counts in train.clients.items()},
        }
        if end == "rounds":
            warnings.warn(
                f"rounds={self.rounds} ended the game before its rule did; a later round may be better.", stacklevel=3
            )
        self._keep(play.chosen())
        for callback in self.callbacks:
            callback.on_end(self.result_)

    def _keep(self, ensemble: Ensemble) -> None:
        self.model_ = Deployed(self._ready, ensemble.cpu())
        self.players_ = dict(zip(ensemble.names, ensemble.players, strict=True))

    def _probabilities(self, batch: Tensor) -> np.ndarray:
        if self._session is not None:
            (found,) = self._session.run([OUTPUTS], {INPUTS: batch.float().numpy()})
            return np.asarray(found)
        probabilities: np.ndarray = self.model_(batch.float()).numpy()
        return probabilities

    def _check_is_fitted(self, trainable: bool = False) -> None:
        if not hasattr(self, "classes_"):
            raise UserError("This FLGames has not been fitted: call fit first, or load a model.")
        if trainable and not hasattr(self, "model_"):
            raise UserError("This model was loaded to predict only: load it with its modules to save it again.")


def _jsonable(value: Any) -> Any:
    """A plain value: NumPy's and torch's are not."""
    return value.tolist() if hasattr(value, "tolist") else value


def _label_array(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as they are: an array of one type only if all of them have it."""
    array = np.array(labels) if len({type(label) for label in labels}) == 1 else np.array([])
    if array.shape == (len(labels),):
        return array
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _onnx_session(path: Path, needed: Iterable[str]) -> Any:
    passed = " and ".join(needed)
    if not path.exists():
        raise UserError(f"{path} is not there: pass {passed} to load, as when it was trained.")
    try:
        import onnxruntime
    except ImportError:
        raise UserError(f"Pass {passed} to load, or install onnxruntime, which can do without.") from None
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@contextmanager
def _bar(show: bool, rounds: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, disable=not show, transient=True) as bar:
        task = bar.add_task("round 0", total=rounds)

        def update(line: Mapping[str, Any]) -> None:
            words = f"round {line['round'] + 1}/{rounds}, train {line['accuracy']:.3f}, spread {line['spread']:.3f}"
            bar.update(task, completed=line["round"] + 1, description=words)

        yield update
