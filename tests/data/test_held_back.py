"""Samples that are held back: which they are, that nothing is learnt from them, and that all is judged by them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from flgames.core.client import Site
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import Answers, Ask
from flgames.core.method import Method
from flgames.core.stopping.early_round import EarlyRound
from flgames.data.own.records import InMemory, LaidOut, Unseen
from flgames.data.samples import ArraySamples, Samples, Subset, held_back
from flgames.methods.registry import make
from flgames.models.architecture import Architecture
from tests.toys import Records

INPUTS = 3
LINEAR = Architecture(lambda: nn.Linear(INPUTS, 2))


@dataclass(frozen=True)
class Grouped(ArraySamples):
    """Samples that know whose they are."""

    groups: Tensor


def numbered(samples: int) -> ArraySamples:
    """Whose inputs are their own numbers."""
    return ArraySamples(torch.arange(samples)[:, None].float(), torch.arange(samples) % 2)


def grouped(*sizes: int) -> Grouped:
    """As many people as there are sizes, with so many samples each, one person's apart from each other."""
    whose = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    whose = whose[torch.randperm(len(whose), generator=torch.Generator().manual_seed(0))]
    plain = numbered(len(whose))
    return Grouped(plain.inputs, plain.targets, whose)


def rows_of(part: Samples | None) -> list[int]:
    """The numbers of a part's samples."""
    if part is None:
        return []
    return [int(x) for x in part.batch(torch.arange(len(part)))[0][:, 0]]


@pytest.mark.parametrize(
    ("samples", "share", "expected"),
    [(100, 0.2, 20), (10, 0.25, 2), (7, 0.2, 1), (3, 0.01, 1), (2, 0.5, 1), (10, 0.99, 9), (1000, 0.333, 333)],
)
def test_a_share_is_held_back_and_the_rest_is_trained_on(samples: int, share: float, expected: int) -> None:
    train, back = (rows_of(part) for part in held_back(numbered(samples), share, seed=3, client="north"))
    assert len(back) == expected
    assert sorted(train + back) == list(range(samples)), "every sample is on one side"


def test_which_they_are_is_decided_by_seed_and_client_alone() -> None:
    def back(seed: int, client: str) -> list[int]:
        return rows_of(held_back(numbered(50), 0.2, seed, client)[1])

    assert back(0, "north") == back(0, "north")
    others = [back(0, "south"), back(1, "north"), back(1, "south")]
    assert all(other != back(0, "north") for other in others)
    assert len({tuple(other) for other in others}) == 3


def test_more_are_held_back_by_adding_to_those_that_were() -> None:
    less, more = (set(rows_of(held_back(numbered(50), share, 0, "north")[1])) for share in (0.1, 0.3))
    assert less < more


def test_nothing_is_held_back_unless_it_is_asked_for() -> None:
    samples = numbered(9)
    assert held_back(samples, 0.0, 0, "north") == (samples, None)


@pytest.mark.parametrize("samples", [numbered(1), grouped(8)], ids=["one sample", "one person"])
def test_who_has_one_of_something_trains_on_it(samples: Samples) -> None:
    train, back = held_back(samples, 0.2, 0, "north")
    assert back is None
    assert len(train) == len(samples)


@pytest.mark.parametrize("seed", range(5))
def test_people_are_never_parted(seed: int) -> None:
    samples = grouped(1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 2, 2, 3, 3)
    train, back = (set(rows_of(part)) for part in held_back(samples, 0.25, seed, "north"))
    assert train | back == set(range(40))
    people = [{int(samples.groups[row]) for row in side} for side in (train, back)]
    assert not people[0] & people[1]
    assert 6 <= len(back) <= 10, "not more than a quarter, and the next person would be too many"


def test_who_is_who_matters_and_not_how_they_are_numbered() -> None:
    samples = grouped(2, 3, 4, 3, 2)
    again = replace(samples, groups=100 + 7 * samples.groups)
    assert rows_of(held_back(samples, 0.3, 0, "north")[1]) == rows_of(held_back(again, 0.3, 0, "north")[1])


@pytest.mark.parametrize("seed", range(6))
def test_a_person_with_most_of_the_samples_is_trained_on(seed: int) -> None:
    """A fifth was to be held back: 90 of 100 samples are not."""
    train, back = held_back(grouped(90, 5, 5), 0.2, seed, "north")
    assert len(rows_of(back)) in (5, 10)
    assert len(train) >= 90


def test_a_site_has_both_sides() -> None:
    site = Site.of("north", numbered(20), seed=1, validation=0.2)
    assert (len(site.samples), len(site.held_back or ())) == (16, 4)
    assert rows_of(site.held_back) == rows_of(held_back(numbered(20), 0.2, 1, "north")[1])
    whole = Site.of("north", numbered(20), seed=1)
    assert (len(whole.samples), whole.held_back) == (20, None)


def test_a_site_takes_samples_and_nothing_that_is_unseen() -> None:
    unseen: Any = Unseen("north", LaidOut(InMemory(torch.eye(2)), torch.tensor([0, 1]), nn.Identity()))
    for validation in (0.0, 0.2):
        with pytest.raises(TypeError, match="a client trains on Samples, not on Unseen"):
            Site.of("north", unseen, seed=0, validation=validation)
    with pytest.raises(ValueError, match="no client can be called 'contested'"):
        Site.of("contested", numbered(4), seed=0)


# Whole games, in which every row that is read is noted.


@dataclass
class Watched:
    """Samples that remember which of their rows were read, and for which task."""

    samples: ArraySamples
    read: dict[str, set[int]] = field(default_factory=dict)
    task: str = "setting up"

    def __len__(self) -> int:
        return len(self.samples)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        self.read.setdefault(self.task, set()).update(index.tolist())
        return self.samples.batch(index)


class Watching(LocalFederation):
    """Tells a client's samples what they are read for."""

    watched: Mapping[str, Watched]

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        for name, ask in asks.items():
            self.watched[name].task = ask.task
        return super().ask(asks, timeout)


JUDGING = {"count", "warm", "judge"}
"""Tasks that may read what was held back: they answer with counts, sums and figures."""

METHODS: dict[str, dict[str, Any]] = {
    "fl-games": {"batch_size": 8, "memory": 2, "learning_rate": 0.1},
    "fedavg": {"batch_size": 8, "local_steps": 4, "learning_rate": 0.1},
    "logistic": {},
    "local-mean": {"batch_size": 8, "learning_rate": 0.1},
    "fedsgd": {"batch_size": 8, "batches": "all", "learning_rate": 0.1},
}
GAMES: dict[str, tuple[str, dict[str, Any]]] = {name: (name, knobs) for name, knobs in METHODS.items()} | {
    "fl-games, full batch": ("fl-games", {"full_batch": True, "learning_rate": 0.1}),
    "fl-games, settled": ("fl-games", METHODS["fl-games"] | {"settle": "always"}),
}
SHARE = 0.25


def made(name: str) -> Method:
    method, knobs = GAMES[name]
    return make(method, LINEAR, knobs)


def clients(turned_round: bool = False) -> dict[str, ArraySamples]:
    """Three clients whose first column says the label, and whose second one is a shortcut of different strength; of
    what is held back the opposite, if it is turned round."""
    found = {}
    for number, name in enumerate("abc"):
        draw = torch.Generator().manual_seed(number)
        targets = torch.arange(48) % 2
        inputs = torch.randn(48, INPUTS, generator=draw)
        inputs[:, :2] += (2 * targets - 1)[:, None] * torch.tensor([0.5, 1.2 * (number - 1)])
        if turned_round:
            rows = back_rows(name, 48)
            inputs[rows], targets[rows] = 10 * inputs[rows], 1 - targets[rows]
        found[name] = ArraySamples(inputs, targets)
    return found


def back_rows(name: str, samples: int) -> list[int]:
    return rows_of(held_back(numbered(samples), SHARE, 0, name)[1])


def watched_play(name: str, rounds: int = 6) -> tuple[Play, dict[str, Watched]]:
    method = made(name)
    watched = {client: Watched(samples) for client, samples in clients().items()}
    federation = Watching.of(method, watched, 0, validation=SHARE)
    federation.watched = watched
    return Play(method, federation, seed=0, rounds=rounds, measure_samples=0), watched


def read_for(watched: Watched, tasks: Collection[str]) -> set[int]:
    return {row for task in tasks for row in watched.read.get(task, ())}


@pytest.mark.parametrize("name", GAMES)
def test_nothing_that_was_held_back_is_read_to_train(name: str) -> None:
    play, watched = watched_play(name)
    play.start()
    play.run()
    finding = play.result([]).finding
    assert (finding is not None and finding.settled) == ("settled" in name)
    for client, each in watched.items():
        back = set(back_rows(client, 48))
        assert len(back) == 12
        # Where samples are weighted, those that were held back get weights too, by the table of the others.
        trains = set(each.read) - JUDGING - ({"weigh"} if "settled" in name else set())
        read = read_for(each, trains)
        assert read <= set(range(48)) - back
        assert len(read) == 36, "and all others are"
        assert read_for(each, JUDGING) == back


@pytest.mark.parametrize("name", GAMES)
def test_the_model_is_the_same_whatever_was_held_back(name: str) -> None:
    ends = []
    for turned_round in (False, True):
        method = made(name)
        play = Play(method, LocalFederation.of(method, clients(turned_round), 0, validation=SHARE), seed=0, rounds=6)
        play.start()
        play.run()
        ends.append((play.ensemble().tensors(), play.exact_measure().accuracy))
    (one, its), (other, others) = ends
    assert all(torch.equal(tensor, other[key]) for key, tensor in one.items())
    assert others < its - 0.3, "and it is judged by that alone"


@pytest.mark.parametrize("name", ["fl-games", "fedavg", "logistic"])
def test_records_rules_and_figures_are_counted_on_what_was_held_back(name: str) -> None:
    method, records, looks = made(name), Records(), list[dict[str, float]]()
    everything = clients()
    federation = LocalFederation.of(method, everything, 0, validation=SHARE)
    rule = EarlyRound(early=50)
    play = Play(method, federation, seed=0, rounds=5, rule=rule, warm_start=0)
    play.start()
    play.run([records], lambda: looks.append(accuracies(play, everything)))
    assert play.server.samples == dict.fromkeys("abc", 36)
    assert play.server.held_back == play.server.judged == dict.fromkeys("abc", 12)
    for record, look in zip(records.heard, looks, strict=True):
        assert record.accuracy_of == pytest.approx(look)
        assert record.samples == record.decided_by.samples == 36
    result = play.result(records.heard)
    chosen = looks[result.chosen_round]
    assert result.train_of == pytest.approx(chosen)
    assert {client: each.accuracy for client, each in result.held_back.items()} == pytest.approx(chosen)
    assert {each.n for each in result.held_back.values()} == {12}
    assert {client: each.confusion for client, each in result.held_back.items()} == result.confusion_of


def accuracies(play: Play, everything: Mapping[str, ArraySamples]) -> dict[str, float]:
    """Of what is played now, on the rows that were held back, found without the federation."""
    model, found = play.ensemble(), {}
    for name, samples in everything.items():
        inputs, targets = Subset(samples, torch.tensor(back_rows(name, 48))).batch(torch.arange(12))
        with torch.inference_mode():
            found[name] = float((model(inputs).argmax(1) == targets).double().mean())
    return found


def test_a_client_with_nothing_to_hold_back_judges_nothing() -> None:
    """Of two clients one has a single sample: it trains on it, and nothing is said of it."""
    method = made("fedavg")
    two: dict[str, Samples] = {"a": clients()["a"], "b": ArraySamples(torch.ones(1, INPUTS), torch.tensor([1]))}
    play = Play(method, LocalFederation.of(method, two, 0, validation=SHARE), seed=0, rounds=2)
    play.start()
    assert play.server.held_back == {"a": 12, "b": 0}
    assert play.server.judged == {"a": 12}
    play.run()
    assert {name: each.n for name, each in play.result([]).held_back.items()} == {"a": 12}
