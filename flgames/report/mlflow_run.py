"""A run in MLflow: settings, measures by round, figures, the page, and the exported model in its registry.

Where MLflow's own variables say: MLFLOW_TRACKING_URI, MLFLOW_REGISTRY_URI, MLFLOW_EXPERIMENT_NAME.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flgames.core.callbacks import GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.errors import UserError
from flgames.files import write_json
from flgames.report.tracked import Tracker
from flgames.runs.folder import RunFolder
from flgames.runs.load import LoadedModel, load
from flgames.runs.result import Result

EXPERIMENT = "flgames"
KEPT = "mlflow.json"
"""In a run folder: which runs of MLflow are its own, so that one that goes on goes on there too."""

SHOWN = ("*.png", "report.html", "results.json", "table.md", "settings.json", "plan.json", "clients*.csv")
"""Files of a run that are logged. Nothing of a client's data is among them."""

SOON = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""While it is asked whether it is there at all, unless somebody has set these."""


class MLflowRun(Tracker):
    """A parent run of MLflow for a run folder, and one below it for every game."""

    def __init__(self, run: RunFolder) -> None:
        super().__init__(run)
        from mlflow import MlflowClient

        self._client = MlflowClient()
        self._kept: dict[str, Any] = self._begun()
        self._game = ""
        self._last = -1

    @staticmethod
    def check() -> None:
        """MLflow must be installed, and its store must answer."""
        if importlib.util.find_spec("mlflow") is None:
            raise UserError("MLflow needs one more package: pip install -c constraints.txt '.[track]'.")
        import mlflow
        from mlflow import MlflowClient

        uri = mlflow.get_tracking_uri()
        try:
            with _impatient():
                MlflowClient().search_experiments(max_results=1)
        except Exception as error:  # whatever a store's driver raises: it can't be used
            why = str(error).splitlines()[0].rstrip(".")
            raise UserError(f"MLflow can't be used at {uri}: {why}. MLFLOW_TRACKING_URI says where it is.") from None

    @property
    def where(self) -> str:
        import mlflow

        return f"MLflow: {mlflow.get_tracking_uri()}, run {self._kept['run']}"

    def on_start(self, game: GameInfo) -> None:
        assert game.folder is not None
        name = str(game.folder.relative_to(self.run.path))
        if name not in self._kept["games"]:
            tags = {"mlflow.parentRunId": self._kept["run"], "mlflow.runName": name, "method": game.name}
            made = self._client.create_run(self._kept["experiment"], tags=tags)
            self._kept["games"][name] = made.info.run_id
            self._client.log_param(made.info.run_id, "method", game.title)
            self._client.log_param(made.info.run_id, "seed", game.seed)
            self._keep()
        self._game = self._kept["games"][name]
        told = self._client.get_metric_history(self._game, "train/accuracy")
        self._last = max((each.step for each in told), default=-1)

    def on_round(self, record: RoundRecord) -> None:
        if record.round <= self._last:
            return
        values = {"train/accuracy": record.accuracy, "train/spread": record.spread, "train/seconds": record.seconds}
        for name, of in (("accuracy of", record.accuracy_of), ("loss of", record.loss_of)):
            values |= {f"{name}/{client}": value for client, value in of.items()}
        values["bytes/down"] = sum(each.down for each in record.bytes.values())
        values["bytes/up"] = sum(each.up for each in record.bytes.values())
        self._log(self._game, values, record.round)

    def on_end(self, result: GameResult) -> None:
        values = {"chosen/train": result.train, "chosen/round": float(result.chosen_round)}
        if isinstance(result, Result) and result.unseen is not None:
            values["chosen/unseen"] = result.unseen
        self._log(self._game, values, result.chosen_round)
        self._log(self._kept["run"], {f"{name} of {self._name()}": value for name, value in values.items()}, 0)
        self._client.set_terminated(self._game)

    def on_report(self, folder: Path) -> None:
        for pattern in SHOWN:
            for path in sorted(folder.glob(pattern)):
                self._client.log_artifact(self._kept["run"], str(path))
        holdouts = self.run.plan.holdouts
        try:
            self._register(load(folder, holdout=holdouts[0] if len(holdouts) > 1 else None))
        except UserError as error:  # without what ONNX needs
            self.remarks.append(f"No model is in MLflow's registry: {error}")

    def close(self, ended: bool) -> None:
        self._client.set_terminated(self._kept["run"], status="FINISHED" if ended else "KILLED")

    def _begun(self) -> dict[str, Any]:
        path = self.run.path / KEPT
        if path.exists():
            kept: dict[str, Any] = json.loads(path.read_bytes())
            self._client.update_run(kept["run"], status="RUNNING")
            return kept
        experiment = os.environ.get("MLFLOW_EXPERIMENT_ID") or self._experiment()
        made = self._client.create_run(experiment, tags={"mlflow.runName": self.run.path.resolve().name})
        from mlflow.entities import Param

        flat = self.run.settings.flat()
        told = [Param(name, str(value)[:6000]) for name, value in flat.items() if value not in (None, (), "")]
        self._client.log_batch(made.info.run_id, params=told)
        kept = {"experiment": experiment, "run": made.info.run_id, "games": {}}
        write_json(path, kept)
        return kept

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))

    def _keep(self) -> None:
        write_json(self.run.path / KEPT, self._kept)

    def _name(self) -> str:
        return next(str(name) for name, run in self._kept["games"].items() if run == self._game)

    def _log(self, run: str, values: dict[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        told = [Metric(_plain(name), float(value), now, step) for name, value in values.items()]
        self._client.log_batch(run, metrics=told)

    def _register(self, model: LoadedModel) -> None:
        """The model with its signature, as ONNX, under a name that says what it is of."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            model.exported.write_onnx(path, model.raw_shape, model.classes, model.layout)
            import mlflow
            import onnx

            known = onnx.load(path)
            name = _plain(f"flgames-{model.match.options.benchmark}-{model.match.entry.slug}").replace("/", "-")
            with mlflow.start_run(run_id=self._kept["run"]):
                mlflow.onnx.log_model(
                    known,
                    name="model",
                    signature=_signature(known, len(model.classes)),
                    registered_model_name=name.replace(":", "-"),
                    pip_requirements=["onnxruntime"],
                    save_as_external_data=False,
                )


def _signature(known: Any, classes: int) -> Any:
    """What the graph takes and gives, by name, for any number of samples."""
    import numpy as np
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec
    from onnx import TensorProto

    kinds = {TensorProto.FLOAT: np.dtype(np.float32), TensorProto.STRING: np.dtype(str)}
    inputs: list[Any] = []
    for each in known.graph.input:
        kind = each.type.tensor_type
        inputs.append(TensorSpec(kinds[kind.elem_type], (-1, *(d.dim_value for d in kind.shape.dim[1:])), each.name))
    given = TensorSpec(np.dtype(np.float32), (-1, classes), "probabilities")
    return ModelSignature(inputs=Schema(inputs), outputs=Schema([given]))


def _plain(name: str) -> str:
    """A name as MLflow takes it."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:250]


@contextmanager
def _impatient() -> Iterator[None]:
    ours = {name: value for name, value in SOON.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
