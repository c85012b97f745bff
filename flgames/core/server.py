"""What the server of any method does: publish actions, ask clients, remember who was told what, count bytes.

It knows nothing of where clients live.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import torch

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.federation import Federation
from flgames.core.figures import Figures
from flgames.core.gradients import shares_by_size
from flgames.core.information import InformationSet
from flgames.core.messages import LARGEST, Action, Answer, Answers, Ask, Form, Number, bytes_down, bytes_up
from flgames.core.norms import Norms
from flgames.core.records import Traffic
from flgames.core.state import State, taken
from flgames.core.temperature import HIGHEST, LOWEST, STEPS, narrowed
from flgames.errors import ClientFailure

BEGINNING = 300.0
"""Seconds that clients have at least before the first move."""


class Spoiled(Exception):
    """Others turned NaN after what this client had sent: what came of it must be taken back."""


class Server:
    """The server's side of a federation.

    A question carries the news that its client has not seen: every action travels to every client once, which is
    all that memory needs, because clients keep the copies they were sent. A client that fails keeps its last action in
    the ensemble; nobody can say what it took in before it failed, so with its next question it is told everything
    again.

    Parameters
    ----------
    timeout
        Seconds that clients have for an answer.
    min_clients
        How many clients must be there, by their last answer, for the game to go on.
    heard_by
        Whose actions a client is told of, by its name; None: everybody's.
    share_cap
        The largest share that a client can have, however many samples it says that it has.
    """

    def __init__(
        self,
        federation: Federation,
        memory: int = 0,
        timeout: float | None = None,
        min_clients: int = 1,
        heard_by: Callable[[str], Collection[str] | None] = lambda _: None,
        share_cap: float = 1.0,
    ) -> None:
        self.federation = federation
        self.timeout = timeout
        self.min_clients = min_clients
        self.heard_by = heard_by
        self.share_cap = share_cap
        self.known = InformationSet(memory)
        self.questions = 0
        self.heard: dict[str, int] = {}
        """The last question that each client has answered; of those who failed since, none."""
        self.absent: dict[str, str] = {}
        """Who did not answer the last question to them, and why."""
        self.told: dict[str, dict[str, int]] = {client: {} for client in federation.clients}
        self.down = dict.fromkeys(federation.clients, 0)
        self.up = dict.fromkeys(federation.clients, 0)
        self.failures: dict[str, str] = {}
        self.samples: dict[str, int] = {}
        """N_k: how many samples each client trains on."""
        self.held_back: dict[str, int] = {}
        """And how many it has held back."""
        self.effective: dict[str, float] = {}
        """Of clients whose samples count by weights: what share of those that they are judged by is left."""
        self.classes = 0
        self.norms = Norms()

    @property
    def clients(self) -> tuple[str, ...]:
        return self.federation.clients

    def introduce(self) -> None:
        """Learn N_k of every client, and that all of them tell the same number of classes apart.

        They get more time than for a move: it is now that they read their data.
        """
        usual, self.timeout = self.timeout, max(self.timeout, BEGINNING) if self.timeout else None
        answers = self.ask("introduce", self.clients, Form(numbers=("samples", "held_back", "classes")))
        self.timeout = usual
        if missing := [name for name in self.clients if name not in answers]:
            reasons = "; ".join(f"{name}: {self.absent[name]}" for name in missing)
            raise ClientFailure(f"A game begins with all of its clients, and some did not answer ({reasons}).")
        classes = {name: int(answer.numbers["classes"]) for name, answer in answers.items()}
        if len(set(classes.values())) > 1:
            told = ", ".join(f"{name} {number}" for name, number in classes.items())
            raise ClientFailure(f"Clients differ in the number of classes that their predictors have: {told}.")
        self.classes = next(iter(classes.values()))
        self.samples = {name: int(answer.numbers["samples"]) for name, answer in answers.items()}
        self.held_back = {name: int(answer.numbers["held_back"]) for name, answer in answers.items()}
        if empty := [name for name, size in self.samples.items() if size < 1 or self.held_back[name] < 0]:
            raise ClientFailure(f"{', '.join(empty)} has no samples.")

    def publish(self, action: Action, by_author: bool = True) -> None:
        """Make an action known; it travels with the next question to each client that lacks it.

        ``by_author``: whoever is named as its author has just played it, and need not be told.
        """
        self.known.receive([action])
        if action.author in self.told and action.version == 0:
            self.norms.note(action.author, action.weights)
        if by_author and action.author in self.told and action.version > 0:
            self.told[action.author][action.author] = action.version

    def ask(
        self, task: str, clients: Sequence[str], form: Form | Mapping[str, Form], **arguments: Number
    ) -> dict[str, Answer]:
        """The answers of those who answered, in the players' order; ``form`` is what answers must look like."""
        self.questions += 1
        asks = {
            name: Ask(
                task,
                self.known.newer_than(self.told[name], self.heard_by(name)),
                arguments,
                self.questions,
                self.heard.get(name),
                form if isinstance(form, Form) else form[name],
            )
            for name in clients
        }
        answers = self._bounded(task, asks, self.federation.ask(asks, self.timeout))
        self._look_for_author(answers)
        for name, answer in answers.answered.items():
            self.heard[name] = self.questions
            self.absent.pop(name, None)
            self.told[name] |= {action.author: action.version for action in asks[name].news}
            self.down[name] += bytes_down(asks[name])
            self.up[name] += bytes_up(answer)
        self.mark_failed(answers.failed)
        self._check_presence(task)
        return {name: answers.answered[name] for name in self.clients if name in answers.answered}

    def _bounded(self, task: str, asks: Mapping[str, Ask], answers: Answers) -> Answers:
        """The same without answers that are too large beside their peers'."""
        faults = self.norms.faults(answers.answered, {name: ask.form for name, ask in asks.items()})
        if not faults:
            return answers
        answered = {name: answer for name, answer in answers.answered.items() if name not in faults}
        refused = {name: self.federation.refuse(name, task, why) for name, why in faults.items()}
        return Answers(answered, dict(answers.failed) | refused, answers.unbounded)

    def _look_for_author(self, answers: Answers) -> None:
        """Where most clients turn NaN after somebody's answer that stands out, it was that answer."""
        author = self.norms.author() if answers.unbounded else None
        others = answers.unbounded - {author}
        if author is None or not others or len(others) < len(set(answers.answered) - {author}):
            return
        self.norms.forget(author)
        why = f"excluded, because {', '.join(sorted(others))} turned NaN after its answer, which was taken back"
        self.federation.blame(author, why, others)
        self.failures[author] = why
        raise Spoiled(author)

    def tell_again(self) -> None:
        """What was known is known no more: with the next question clients are told everything that there is."""
        self.heard = {}
        self.told = {client: {} for client in self.clients}

    def ask_all(
        self,
        task: str,
        form: Form | Mapping[str, Form],
        clients: Sequence[str] | None = None,
        **arguments: Number,
    ) -> dict[str, Answer]:
        """What can't be done without any of them: the answers of all clients, or of all of these."""
        asked = clients or self.clients
        answers = self.ask(task, asked, form, **arguments)
        if missing := [name for name in asked if name not in answers]:
            reasons = "; ".join(f"{name}: {self.absent[name]}" for name in missing)
            raise ClientFailure(f"{task!r} needs an answer of every client, and some gave none ({reasons}).")
        return answers

    def mark_failed(self, failed: Mapping[str, str]) -> None:
        """These clients failed: what they know is not known any more."""
        for name, why in failed.items():
            self.absent[name] = self.failures[name] = why
            self.heard.pop(name, None)
            self.told[name] = {}

    def _check_presence(self, task: str) -> None:
        present = len(self.clients) - len(self.absent)
        if present < max(self.min_clients, 1):
            reasons = "; ".join(f"{name}: {why}" for name, why in self.absent.items())
            raise ClientFailure(
                f"{present or 'No'} client{'s' * (present > 1)} answered {task!r} ({reasons}): "
                f"the game needs {max(self.min_clients, 1)}."
            )

    def measure(self, samples: int) -> TrainingMeasure:
        """How w_av does on the training clients, on at least so many samples in all."""
        judged = self.judged
        each = -(-samples // len(judged))
        table = {"confusion": (torch.int64, torch.Size((self.classes, self.classes)))}
        forms = {
            name: Form(table, ("loss_sum",), counts={"confusion": (min(each, size), size)})
            for name, size in judged.items()
        }
        counts = {
            name: Counts(answer.tensors["confusion"], float(answer.numbers["loss_sum"]))
            for name, answer in self.ask("count", tuple(forms), forms, samples=each).items()
        }
        sizes = {name: judged[name] for name in counts}
        shares = shares_by_size(judged, counts, self.share_cap) if self.share_cap < 1 else None
        left = sum(size * self.effective.get(name, 1.0) for name, size in sizes.items()) / sum(sizes.values())
        return TrainingMeasure(counts, sizes, left, shares)

    def shares(self, clients: Iterable[str]) -> dict[str, float]:
        """What each of these clients counts for: N_k/N, as far as the cap allows."""
        return shares_by_size(self.samples, clients, self.share_cap)

    @property
    def judged(self) -> dict[str, int]:
        """By whom models are judged, and by how many samples: by those who held some back, or else by all clients."""
        return {name: size for name, size in self.held_back.items() if size} or self.samples

    def judged_by(self, client: str) -> int:
        """How many samples of its own a client judges models by."""
        return self.held_back.get(client) or self.samples[client]

    @property
    def holds_back(self) -> bool:
        """Whether models are judged by samples that nobody trained on."""
        return any(self.held_back.values())

    def temperature(self) -> float:
        """What logits must be divided by for probabilities to be honest, on samples that were held back."""
        lowest, highest = LOWEST, HIGHEST
        for _ in range(2):  # roughly, then closely
            form = Form({"losses": (torch.float64, torch.Size((STEPS,)))}, between={"losses": (0, LARGEST)})
            answers = self.ask("warm", tuple(self.judged), form, lowest=lowest, highest=highest)
            losses = torch.stack([answer.tensors["losses"] for answer in answers.values()]).sum(0)
            lowest, highest = narrowed(losses, lowest, highest)
        return float((lowest * highest) ** 0.5)

    def figures(self, temperature: float) -> dict[str, Figures]:
        """Every client's figures of w_av."""
        numbers = tuple(name for name in Figures.model_fields if name != "confusion")
        table = {"confusion": (torch.int64, torch.Size((self.classes, self.classes)))}
        between = dict.fromkeys(numbers, (-1.0, LARGEST)) | dict.fromkeys(("auc", "calibration_error"), (-1.0, 1.0))
        forms = {
            name: Form(table, numbers, between=between, counts={"confusion": (size, size)})
            for name, size in self.judged.items()
        }
        answers = self.ask("judge", tuple(forms), forms, temperature=temperature)
        return {name: _figures(answer) for name, answer in answers.items()}

    def take_traffic(self) -> dict[str, Traffic]:
        """Bytes down and up per client since the last call."""
        traffic = {name: Traffic(down=self.down[name], up=self.up[name]) for name in self.clients}
        self.down = dict.fromkeys(self.clients, 0)
        self.up = dict.fromkeys(self.clients, 0)
        return traffic

    def take_failures(self) -> dict[str, str]:
        """Who failed since the last call, and why."""
        failures, self.failures = self.failures, {}
        return failures

    def state_dict(self) -> State:
        return {
            "known": self.known.state_dict(),
            "questions": self.questions,
            "heard": self.heard,
            "told": self.told,
            "samples": self.samples,
            "held_back": self.held_back,
            "effective": self.effective,
            "classes": self.classes,
            "down": self.down,
            "up": self.up,
            "failures": self.failures,
            "norms": self.norms.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        self.known.load_state_dict(taken(state, "known", dict))
        self.questions = taken(state, "questions", int)
        self.heard = taken(state, "heard", dict)
        self.told = taken(state, "told", dict)
        self.samples = taken(state, "samples", dict)
        # A state that was saved before samples could be held back says nothing of them.
        self.held_back = taken({"held_back": dict.fromkeys(self.samples, 0)} | state, "held_back", dict)
        self.effective = taken({"effective": {}} | state, "effective", dict)
        self.classes = taken(state, "classes", int)
        self.down = taken(state, "down", dict)
        self.up = taken(state, "up", dict)
        self.failures = taken(state, "failures", dict)
        self.norms.load_state_dict(taken({"norms": Norms().state_dict()} | state, "norms", dict))
        self.absent = {}  # who is there now is another question


def _figures(answer: Answer) -> Figures:
    told = {name: None if value < 0 else value for name, value in answer.numbers.items()}
    return Figures.model_validate({"confusion": answer.tensors["confusion"].tolist()} | told)
