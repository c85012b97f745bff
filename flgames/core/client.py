"""A client: its samples, what it knows of the others, and what it does when it is asked.

A share of its samples may be held back: no weights are learnt from them, and all that is said of a model at this client
is counted on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from flgames.core.cache import FeatureCache, LogitCache
from flgames.core.counts import Counts
from flgames.core.figures import Figures
from flgames.core.information import InformationSet, Term
from flgames.core.messages import NO_PLAYERS, Action, Answer, Ask
from flgames.core.state import State, taken
from flgames.core.temperature import losses_at
from flgames.data.samples import BatchStream, Samples, Subset, held_back, resampled
from flgames.models.architecture import Architecture
from flgames.models.ensemble import PHI, weighted_sum
from flgames.seeds import generator, torch_seed

CPU = torch.device("cpu")

RESERVED = (PHI, *NO_PLAYERS)


@dataclass(frozen=True)
class Site:
    """Where a client lives: its name, its private samples, the run's seed and the device that it computes on."""

    name: str
    samples: Samples
    seed: int
    device: torch.device = CPU
    held_back: Samples | None = None
    """Samples that it does not train on; without them it is judged by those that it trains on."""

    @classmethod
    def of(cls, name: str, samples: Samples, seed: int, device: torch.device = CPU, validation: float = 0.0) -> Self:
        """With this share of its samples held back."""
        whole = cls(name, samples, seed, device)
        train, back = held_back(whole.samples, validation, seed, name)
        return replace(whole, samples=train, held_back=back)

    def __post_init__(self) -> None:
        if not isinstance(self.samples, Samples):
            raise TypeError(f"{self.name}: a client trains on Samples, not on {type(self.samples).__name__}")
        if self.name in RESERVED:
            raise ValueError(f"no client can be called {self.name!r}: that is what the shared part is called")


class Client:
    """What every method's client can do: introduce itself, and say how w_av does on its samples.

    Methods subclass it and add tasks. The state that a client keeps between rounds is :meth:`state_dict`; samples
    never leave.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"introduce", "count", "warm", "judge"})
    """The methods that the server can ask for by name."""

    batches: BatchStream
    """What it trains on, for those who draw mini-batches."""
    weights: Tensor
    judged_weights: Tensor
    """Of the samples that it trains on, and of those that it is judged by, where they don't count alike:
    :meth:`weigh_samples`."""

    def __init__(self, site: Site, architecture: Architecture, memory: int = 0) -> None:
        self.site = site
        self.known = InformationSet(memory)
        self.loss = architecture.loss
        with torch_seed(site.seed, "discarded"):
            self.representation = architecture.representation().to(site.device).eval()
            self.predictor = architecture.predictor().to(site.device)
            # Plays whichever action is put into it; its own weights are never used.
            self.frozen_predictor = architecture.predictor().to(site.device).eval()
        self.learnt = [name for name, each in self.representation.named_parameters() if each.requires_grad]
        """Parameters of phi that are learnt, where phi is: a part of it may be frozen."""
        self.representation.requires_grad_(False)
        self.frozen_predictor.requires_grad_(False)
        self._loaded_phi = -1
        self.features = self._features_of(site.samples)
        self.cache = LogitCache(self.features, self.frozen_predictor)
        """Of the samples that it trains on."""
        judged = None if site.held_back is None else self._features_of(site.held_back)
        self.judged = self.cache if judged is None else LogitCache(judged, self.frozen_predictor)
        """Of the samples that models are judged by."""
        self.counted = self.judged
        """Of the samples that a rule counts, which may be other than those that people hear of."""

    def _features_of(self, samples: Samples) -> FeatureCache:
        order = generator(self.site.seed, "counting order", self.site.name).permutation(len(samples))
        return FeatureCache(samples, torch.from_numpy(order), self.representation, self.site.device)

    def answer(self, ask: Ask) -> Answer:
        """Take in the news, then do the task."""
        self.hear(ask.news)
        if ask.task not in self.tasks:
            raise ValueError(f"{ask.task!r} is nothing that this client can be asked")
        answer: Answer = getattr(self, ask.task)(**ask.arguments)
        return answer

    def hear(self, news: Iterable[Action]) -> None:
        """Take in what others have played."""
        self.known.receive(self._here(action) for action in news)
        phi = self.known.phi
        if phi is not None and phi.version != self._loaded_phi:
            self.representation.load_state_dict(phi.weights)
            self._loaded_phi = phi.version
            self.forget_features()

    def forget(self) -> None:
        """Know nothing of the others, nor of oneself as the others see it: all of it will be told again."""
        self.known = InformationSet(self.known.capacity)
        self._loaded_phi = -1
        self.forget_features()

    def forget_features(self) -> None:
        """Phi has changed: nothing that was computed from it is true any more."""
        for cache in (self.cache, self.judged, self.counted):
            cache.features.forget()
            cache.forget()

    def _here(self, action: Action) -> Action:
        weights = {name: tensor.to(self.site.device) for name, tensor in action.weights.items()}
        return replace(action, weights=weights)

    def introduce(self) -> Answer:
        """How many samples this client trains on, N_k, how many it holds back, and how many classes there are."""
        inputs, _ = self.batch(torch.arange(1))
        with torch.no_grad():
            # In training mode batch normalisation would want two samples.
            logits = self.predictor.eval()(self.representation(inputs))
        held_back = 0 if self.site.held_back is None else len(self.site.held_back)
        return Answer(numbers={"samples": len(self.site.samples), "held_back": held_back, "classes": logits.shape[-1]})

    def model(self) -> list[Term]:
        """What this client would use now: w_av, or a balanced ensemble."""
        actions, balance = self.known.current, self.known.balance
        if balance is None:
            return [(1 / len(actions), action) for action in actions]
        return list(zip(balance["weights"].tolist(), actions, strict=True))

    def count(self, samples: int) -> Answer:
        """Confusion counts and loss sum of w_av on (at least) the first so many samples of a fixed random order."""
        counts = Counts.of(*self._answered(self.counted, samples), self.loss)
        return Answer({"confusion": counts.confusion}, {"loss_sum": counts.loss_sum})

    def warm(self, lowest: float, highest: float) -> Answer:
        """The sum of losses of w_av at temperatures between these two."""
        return Answer({"losses": losses_at(*self._answered(self.judged), lowest, highest)})

    def judge(self, temperature: float) -> Answer:
        """This client's figures of w_av, with its logits divided by a temperature. -1 says that there is no AUC."""
        logits, targets = self._answered(self.judged)
        found = Figures.of((logits.double() / temperature).softmax(1), targets)
        numbers = found.model_dump(exclude={"confusion"})
        told = {name: -1.0 if value is None else value for name, value in numbers.items()}
        return Answer({"confusion": torch.tensor(found.confusion)}, told)

    def _answered(self, cache: LogitCache, samples: int | None = None) -> tuple[Tensor, Tensor]:
        """Logits of w_av on the first so many samples of a cache, or on all of them, and their targets."""
        chunks = cache.chunks(samples)
        logits, balance = self.cached_logits(self.model(), chunks, cache), self.known.balance
        return logits if balance is None else logits + balance["bias"].to(logits), cache.targets(chunks)

    def weigh_samples(self, train: Tensor, judged: Tensor) -> None:
        """From now on draw batches, and count samples, by weights. They never leave this client."""
        self.weights, self.judged_weights = train, judged
        self.batches = self.batches.weighted(train)
        fair = Subset(self.judged.features.samples, resampled(judged))
        self.counted = LogitCache(self._features_of(fair), self.frozen_predictor)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and targets of these samples, on this client's device."""
        inputs, targets = self.site.samples.batch(index)
        return inputs.to(self.site.device), targets.to(self.site.device)

    def cached_logits(self, terms: Sequence[Term], chunks: int, cache: LogitCache) -> Tensor:
        """The weighted sum of these actions' logits on the first chunks; only new actions are evaluated."""
        buffers = self.known.buffers.values()
        keep = {action.key for buffer in buffers for action in (*buffer.played, buffer.current)}
        per_action = cache.logits([action for _, action in terms], chunks, keep)
        return weighted_sum((weight, logits) for (weight, _), logits in zip(terms, per_action, strict=True))

    def state_dict(self) -> State:
        return {"known": self.known.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.known.load_state_dict(taken(state, "known", dict))
        self._loaded_phi = -1
        self.forget_features()
