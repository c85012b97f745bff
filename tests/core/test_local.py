"""Clients in this process: a wrong answer is our own error, one that is not finite is a diverging game."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from flgames.core.client import Client, Site
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import Answer, Ask, Form
from flgames.core.server import Server
from flgames.errors import Diverged
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from tests.toys import SQUARED, one_sample_each, perceptrons, random_clients, set_up, squared_config

ONE = torch.ones(1, 1)

Spoil = Callable[[Answer], Answer]


def spoil(client: Client, task: str, how: Spoil, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a client answer one task in another way."""
    honest = client.answer

    def answer(ask: Ask) -> Answer:
        return how(honest(ask)) if ask.task == task else honest(ask)

    monkeypatch.setattr(client, "answer", answer)


def spoiled_server(task: str, how: Spoil, monkeypatch: pytest.MonkeyPatch) -> tuple[Game, Server]:
    """A game of a and b, in which b does not answer as it should."""
    method = Game(SQUARED, squared_config())
    clients = {name: method.client(Site(name, samples, 0)) for name, samples in one_sample_each(4.0, 2.0).items()}
    spoil(clients["b"], task, how, monkeypatch)
    server = Server(LocalFederation(clients))
    server.introduce()
    method.start(server, 0)
    return method, server


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda answer: Answer({}, answer.numbers), "lacks the tensor weight"),
        (lambda answer: Answer({"weight": ONE, "bias": ONE}, answer.numbers), "has a tensor bias, which nobody asked"),
        (
            lambda answer: Answer({"weight": ONE[0]}, answer.numbers),
            r"has weight as float32\[1\] instead of float32\[1",
        ),
        (lambda answer: Answer({"weight": ONE.double()}, answer.numbers), r"has weight as float64\[1, 1\] instead of"),
        (lambda answer: Answer({"weight": ONE[0] * math.nan}, answer.numbers), r"has weight as float32\[1\]"),
        (lambda answer: Answer(answer.tensors), r"has the numbers \[\] instead of \['loss'\]"),
        (lambda answer: Answer(answer.tensors, {"loss": 1.0, "t": 1}), r"has the numbers \['loss', 't'\] instead of"),
    ],
)
def test_a_malformed_answer_is_refused(how: Spoil, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, server = spoiled_server("respond", how, monkeypatch)
    with pytest.raises(TypeError, match=f"^the answer of b to 'respond' {said}"):
        method.round(server, 0, 0)


@pytest.mark.parametrize(
    ("confusion", "said"),
    [
        ([[20, 10], [10, 1]], "counts 41 samples, and 30 to 40 were to be counted"),
        ([[10, 10], [8, 1]], "counts 29 samples, and 30 to 40 were to be counted"),
        ([[20, 21], [0, -1]], "counts 40 samples"),
        ([[40]], r"has confusion as int64\[1, 1\] instead of int64\[2, 2\]"),
    ],
)
def test_nobody_counts_what_it_does_not_have(
    confusion: list[list[int]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = Game(perceptrons(), FLGamesConfig())
    clients = {name: method.client(Site(name, samples, 0)) for name, samples in random_clients(40, 40).items()}
    spoil(
        clients["a"],
        "count",
        lambda answer: Answer({"confusion": torch.tensor(confusion)}, answer.numbers),
        monkeypatch,
    )
    server = Server(LocalFederation(clients))
    server.introduce()
    method.start(server, 0)
    with pytest.raises(TypeError, match=f"^the answer of a to 'count' {said}"):
        server.measure(60)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (lambda answer: Answer({"weight": ONE * math.nan}, answer.numbers), "has NaN or infinity in weight"),
        (lambda answer: Answer({"weight": ONE * math.inf}, answer.numbers), "has NaN or infinity in weight"),
        (lambda answer: Answer(answer.tensors, {"loss": math.nan}), "says that loss is nan"),
        (lambda answer: Answer(answer.tensors, {"loss": -math.inf}), "says that loss is -inf"),
        (lambda answer: Answer(answer.tensors, {"loss": 1e30}), r"says that loss is 1e\+30"),
        (lambda answer: Answer(answer.tensors, {"loss": 10**400}), "has a huge loss"),
    ],
)
def test_an_answer_that_is_not_finite_is_a_diverging_game(
    how: Spoil, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, server = spoiled_server("respond", how, monkeypatch)
    with pytest.raises(Diverged, match=f"^the answer of b to 'respond' {said}"):
        method.round(server, 0, 0)


def test_finite_weights_may_have_an_infinite_sum() -> None:
    like = {"weight": torch.full((3, 3), torch.finfo(torch.float32).max)}
    assert not list(Form.of(like).unbounded(Answer(like)))


def test_weights_that_are_finite_and_huge_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    method = Game(perceptrons(), FLGamesConfig())
    clients = {name: method.client(Site(name, samples, 0)) for name, samples in random_clients(40, 40).items()}
    huge = {name: torch.full_like(tensor, 1e30) for name, tensor in clients["a"].predictor.state_dict().items()}
    spoil(clients["a"], "respond", lambda answer: Answer(huge, answer.numbers), monkeypatch)
    server = Server(LocalFederation(clients))
    server.introduce()
    method.start(server, 0)
    with pytest.raises(Diverged, match="the answer of a to 'respond' has the norm inf"):
        method.round(server, 0, 0)


def test_the_loop_says_in_which_round_a_game_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    method = Game(perceptrons(), FLGamesConfig())
    clients = {name: method.client(Site(name, samples, 0)) for name, samples in random_clients(40, 40).items()}
    play = Play(method, LocalFederation(clients), seed=0, rounds=5)
    play.start()

    def after_round() -> None:
        if play.next_round == 2:
            nan = {name: tensor * math.nan for name, tensor in clients["b"].predictor.state_dict().items()}
            spoil(clients["b"], "respond", lambda answer: Answer(nan, answer.numbers), monkeypatch)

    with pytest.raises(Diverged, match=r"^In round 3: the answer of b to 'respond' has NaN or infinity in "):
        play.run(after_round=after_round)


def test_too_large_a_learning_rate_diverges() -> None:
    method = Game(perceptrons(), FLGamesConfig(optimiser="sgd", learning_rate=1e30))
    play = set_up(method, random_clients(40, 40), 20)
    play.start()
    with pytest.raises(Diverged, match=r"^In round \d+: the answer of [ab] to .*\. Try a smaller learning rate\.$"):
        play.run()
