"""A server that wants rows rather than a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from flgames.core.messages import MODEL, Action, Ask
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnData, OwnOptions, surveys_of
from flgames.data.samples import BatchStream
from flgames.engines.host import Host
from flgames.engines.sites import SiteData
from flgames.engines.wire import pack_ask, read_answer
from flgames.models.architecture import initial_weights
from flgames.models.networks import Linear
from flgames.policy.rules import Rules
from flgames.runs.match import Match
from tests.engines.matches import a_match
from tests.own_data import table

ROWS, BATCH, ROUNDS = 40, 8, 120


@pytest.fixture
def match(tmp_path: Path) -> Match:
    for seed, name in enumerate("ab"):
        table(tmp_path / "data" / f"{name}.csv", ROWS, seed)
    data, roles = str(tmp_path / "data"), Roles(target="sick")
    options = OwnOptions.of(data, roles, None, (), surveys_of(data, roles))
    entry = a_match("fedsgd", batch_size=BATCH).entry.model_copy(update={"network": Linear()})
    return Match(options=options, entry=entry, seed=0)


def rebuilt(match: Match, host: Host) -> np.ndarray:
    """Rows from gradients of the same model again and again, where one knows which samples each of them is of."""
    architecture = match.entry.make((2,), 2).architecture
    model = initial_weights(architecture.predictor, 0, MODEL)
    header = {"run": "run", "match": match.model_dump(mode="json"), "threads": 1, "device": "cpu", "kind": "ask"}
    gradients = []
    for number in range(ROUNDS + 1):
        news = (Action(MODEL, number, model),)
        ask = Ask("gradient" if number else "introduce", news if number else (), {}, number + 1, number or None)
        answer, tensors = read_answer(host.handle(pack_ask(ask, header)))
        assert answer.error is None
        if number:
            weight, bias = (next(each for each in tensors.values() if each.dim() == size) for size in (2, 1))
            gradients.append(torch.cat([weight[0], bias[:1]]).double().numpy())
    batches = BatchStream(ROWS, BATCH, match.seed, "a", "moves")
    members = np.zeros((ROUNDS, ROWS))
    for number in range(ROUNDS):
        members[number, batches.batch(number)] = 1 / BATCH
    each = np.linalg.lstsq(members, np.stack(gradients), rcond=None)[0]
    return np.asarray(each[:, :2] / each[:, 2:])


@pytest.mark.parametrize("secret", [False, True])
def test_rows_can_not_be_solved_for(secret: bool, match: Match, tmp_path: Path) -> None:
    """Batches are as large as the floor wants them. Only that their order is secret helps."""
    rules = Rules.model_validate({"data": {"target": "sick"}, "game": {"secret_order": secret}})
    host = Host("a", SiteData("a", tmp_path / "data" / "a.csv", rules), tmp_path / "disk", rules=rules)
    assert isinstance(match.options, OwnOptions)
    samples = OwnData(match.options).samples("a")
    true, _ = samples.batch(torch.arange(ROWS))
    found = np.abs(rebuilt(match, host) - true.numpy()).max(1) < 0.01
    assert found.sum() == (0 if secret else ROWS)


def test_the_order_is_the_same_when_a_site_starts_again(match: Match, tmp_path: Path) -> None:
    rules = Rules.model_validate({"data": {"target": "sick"}})
    hosts = [Host("a", SiteData("a", tmp_path / "data" / "a.csv", rules), tmp_path / "disk") for _ in range(2)]
    again, elsewhere = hosts[1]._seed(match), Host("a", hosts[0].source, tmp_path / "other")._seed(match)
    assert hosts[0]._seed(match) == again != elsewhere
    assert hosts[0]._seed(match.model_copy(update={"seed": 1})) != again
    assert hosts[0]._seed(a_match()) == 0, "a benchmark ends with the same weights everywhere"
    secret = tmp_path / "disk" / "a" / ".site" / "secret"
    assert oct(secret.stat().st_mode)[-3:] == "600"
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
