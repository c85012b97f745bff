"""What is most worth playing: empty cells first, then the cells with the fewest seeds; of equals, the quickest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flgames.paper.case import Case
from flgames.runs.match import Match

IsPlayed = Callable[[Match], bool]


def cells(cases: Iterable[Case]) -> list[Case]:
    """Each cell once, in however many tables and figures it stands."""
    return list({case.matches()[0].key: case for case in cases}.values())


def empty(cases: Iterable[Case], is_played: IsPlayed) -> list[Case]:
    """The cells of which no seed has been played."""
    return [case for case in cells(cases) if not any(map(is_played, case.matches()))]


def by_worth(cases: Iterable[Case], is_played: IsPlayed, seconds: Mapping[str, float]) -> list[Match]:
    """All matches of these cells, each once, in the order in which they should be played.

    ``seconds`` are those that a match still takes, by its stem. A match that several cells share is worth what it is to
    the emptiest of them.
    """
    matches: dict[str, Match] = {}
    seeds_before: dict[str, int] = {}
    for case in cases:
        by_seed: dict[int, list[Match]] = {}
        for match in case.matches():
            by_seed.setdefault(match.seed, []).append(match)
        # Seeds that are there count, whichever they are.
        in_order = sorted(by_seed.values(), key=lambda own: not all(map(is_played, own)))
        for seeds, own in enumerate(in_order):
            for match in own:
                matches.setdefault(match.key, match)
                seeds_before[match.key] = min(seeds, seeds_before.get(match.key, seeds))
    return sorted(matches.values(), key=lambda match: (seeds_before[match.key], seconds[match.stem]))
