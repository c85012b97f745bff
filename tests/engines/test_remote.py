"""Clients somewhere else, without the somewhere: every payload is packed, carried by hand, and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from flgames.core.callbacks import Callback
from flgames.core.records import RoundRecord
from flgames.data.names import natural
from flgames.data.samples import Samples
from flgames.engines.host import Host, saved_rounds
from flgames.engines.remote import OVERSIZE, STRIKES, RemoteFederation, Replies
from flgames.engines.sites import SiteData, check_players
from flgames.engines.wire import AnswerHeader, Unreadable, pack, read_answer, unpack
from flgames.errors import ClientFailure, UserError
from flgames.methods.registry import METHODS
from flgames.models.architecture import Weights
from flgames.runs.folder import GameFolder
from flgames.runs.match import Match
from flgames.runs.runner import Interrupted, Runner
from flgames.sealed import Seal, read_state
from tests.by_hand import CLIENTS, ByHand, Spoil
from tests.engines.matches import CPU, a_match, here, over, played
from tests.games import Following
from tests.toys import flat

GAMES = (
    "parallel-f-fl-games-smooth", "sequential-f-fl-games", "sequential-v-fl-games-smooth", "parallel-v-fl-games-fast",
)  # fmt: skip


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", [*GAMES, *(name for name in METHODS if name != "fl-games")])
def test_every_method_ends_with_the_same_weights_wherever_its_clients_are(
    name: str, processes: int, tmp_path: Path
) -> None:
    match = a_match(name, rounds=2 if name == "logistic" else 8)  # one of its rounds is many steps
    # Where a client has more than one process, none of them can rely on having answered the question before.
    there = played(over(ByHand(tmp_path, processes=processes, forgets=processes > 1), match))
    beside = played(here(match))
    assert torch.equal(flat(there.server), flat(beside.server))
    one, other = (play.result([]) for play in (there, beside))
    assert (one.temperature, one.held_back) == (other.temperature, other.held_back)
    assert bool(one.held_back) == bool(match.entry.validation)


def test_bytes_of_the_ledger_are_those_of_the_payloads(tmp_path: Path) -> None:
    match = a_match(rounds=6)
    exchange = ByHand(tmp_path)
    play = over(exchange, match)
    lines = Following()
    play.start()
    exchange.carried.clear()
    play.run([lines])
    down = sum(client.down for record in lines.records for client in record.bytes.values())
    up = sum(client.up for record in lines.records for client in record.bytes.values())
    carried_down, carried_up = (sum(part) for part in zip(*exchange.carried, strict=True))
    messages = len(exchange.carried)
    # A header names the match and every tensor: it has a size of its own, whatever the model's.
    assert down <= carried_down <= down + 4000 * messages
    assert up <= carried_up <= up + 1000 * messages


def test_what_crosses_is_predictors_phi_gradients_and_counts(tmp_path: Path) -> None:
    match = a_match("parallel-v-fl-games-smooth", rounds=4)
    exchange = ByHand(tmp_path)
    crossed: set[str] = set()
    sizes: set[int] = set()
    original = ByHand.__call__

    def watching(self: ByHand, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        replies = original(self, payloads, timeout)
        for reply in replies.arrived.values():
            header, tensors = unpack(reply)
            crossed.update(name.split("/")[0] if "/" in name else "weights" for name in tensors if name != "confusion")
            crossed.update(header.get("numbers", {}), {"confusion"} & set(tensors))
            sizes.update(tensor.numel() for tensor in tensors.values())
        return replies

    ByHand.__call__ = watching  # type: ignore[method-assign]
    try:
        play = played(over(exchange, match))
    finally:
        ByHand.__call__ = original  # type: ignore[method-assign]
    assert crossed == {"weights", "gradient", "confusion", "loss", "loss_sum", "samples", "held_back", "classes"}
    assert play.server.known.phi is not None
    weights = {
        tensor.numel()
        for action in (*play.server.known.current, play.server.known.phi)
        for tensor in action.weights.values()
    }
    assert sizes <= weights | {4}, "a tensor of any other size could be samples"


# Failures.


def test_a_client_that_is_away_keeps_its_last_action_and_catches_up(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=4)
    play = over(exchange, match)
    play.start()
    play.run()
    before = play.server.known.buffers["client-2"].current
    exchange.away = {"client-2"}
    play.rounds, play.end = 6, None
    lines = Following()
    play.run([lines])
    assert play.server.known.buffers["client-2"].current is before
    assert lines.records[-1].failures == {"client-2": "no answer within 5 s"}
    exchange.away = set()
    play.rounds, play.end = 8, None
    play.run([lines])
    assert lines.records[-1].failures == {}
    assert play.server.known.buffers["client-2"].current.version == 8


def test_an_answer_that_is_lost_was_never_played(tmp_path: Path) -> None:
    """What the client knows of itself is again what the others know of it."""
    exchange, match = ByHand(tmp_path), a_match(rounds=3)
    play = over(exchange, match)
    play.start()
    play.run()
    exchange.loses = {"client-2"}
    play.rounds, play.end = 4, None
    play.run()
    exchange.loses = set()
    play.server.measure(100)
    session = exchange.hosts[0]["client-2"]._session
    assert session is not None
    theirs, ours = session.client.known.buffers["client-2"], play.server.known.buffers["client-2"]
    assert theirs.current.version == ours.current.version == 3
    assert all(torch.equal(theirs.current.weights[name], tensor) for name, tensor in ours.current.weights.items())


def test_one_of_clockwise_players_may_be_away(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match("sequential-f-fl-games", rounds=6)
    play = over(exchange, match)
    play.start()
    exchange.away = {"client-2"}
    play.run()
    assert [play.server.known.buffers[name].current.version for name in CLIENTS] == [4, 0, 6]


def test_the_game_ends_with_fewer_than_min_clients(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match()
    play = over(exchange, match, min_clients=2)
    play.start()
    exchange.away = {"client-1", "client-3"}
    with pytest.raises(ClientFailure, match=r"1 client answered 'respond' \(client-1: no answer.*the game needs 2"):
        play.run()


def test_a_game_begins_with_all_of_its_clients(tmp_path: Path) -> None:
    exchange = ByHand(tmp_path)
    exchange.away = {"client-3"}
    with pytest.raises(ClientFailure, match="client-3: no answer"):
        over(exchange, a_match()).start()


def test_an_error_of_a_client_is_told_and_not_fatal(tmp_path: Path) -> None:
    exchange = ByHand(tmp_path)
    play = over(exchange, a_match(rounds=2))
    play.start()

    class Broken(SiteData):
        def samples(self, match: Match) -> Samples:
            raise OSError("the disk is gone")

    exchange.hosts[0]["client-1"] = Host("client-1", Broken("client-1"), tmp_path)
    lines = Following()
    play.run([lines])
    assert lines.records[0].failures == {"client-1": "no-access: the log of the site says why"}
    assert "OSError: the disk is gone" in (tmp_path / "client-1" / ".site" / "errors.log").read_text()


def test_a_client_that_lost_its_memory_says_so_and_is_told_everything_again(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=3)
    play = over(exchange, match)
    play.start()
    play.run()
    exchange.hosts[0]["client-1"] = Host("client-1", SiteData("client-1"), tmp_path)
    play.rounds, play.end = 5, None
    lines = Following()
    play.run([lines])
    assert "goes on from question" in lines.records[0].failures["client-1"]
    assert lines.records[1].failures == {}
    assert play.server.known.buffers["client-1"].current.version == 5


# Bad updates.


def with_tensor(change: Callable[[Weights], object]) -> Spoil:
    def spoil(header: dict[str, Any], tensors: Weights) -> bytes | None:
        if "confusion" in tensors or not tensors:
            return None
        change(tensors)
        return pack(header, tensors)

    return spoil


def poison(value: float) -> Spoil:
    def change(tensors: Weights) -> None:
        tensors["1.weight"][0, 0] = value

    return with_tensor(change)


def with_header(**changes: Any) -> Spoil:
    return lambda header, tensors: pack(header | changes, tensors) if "1.weight" in tensors else None


BAD = {
    "NaN": (poison(float("nan")), "NaN or infinity in 1.weight"),
    "infinity": (poison(float("inf")), "NaN or infinity in 1.weight"),
    "shape": (with_tensor(lambda t: t.update({"1.weight": torch.zeros(3)})), r"1.weight as float32\[3\] instead of"),
    "type": (with_tensor(lambda t: t.update({"1.weight": t["1.weight"].double()})), "as float64"),
    "missing": (with_tensor(lambda t: t.pop("1.weight")), "lacks the tensor 1.weight"),
    "more": (with_tensor(lambda t: t.update({"samples": torch.zeros(2)})), "samples, which nobody asked for"),
    "round": (with_header(number=1), "is to question 1, and"),
    "name": (with_header(client="client-3"), "says that it is from client-3"),
    "numbers": (with_header(numbers={}), r"the numbers \[\] instead of \['loss'\]"),
    "loss": (with_header(numbers={"loss": float("inf")}), "says that loss is inf"),
    "words": (with_header(numbers={"loss": "low"}), "wrong in numbers.loss"),
    "huge": (with_header(numbers={"loss": 10**400}), "has a huge loss"),
    "noise": (lambda header, tensors: b"not at all", "not in our format"),
    "too large": (
        with_tensor(lambda t: t.update({"1.weight": torch.zeros(10_000_000)})),
        r"has 40\d+ bytes, and \d+ were expected: not read",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_is_refused_by_name_and_never_played(kind: str, tmp_path: Path) -> None:
    spoil, why = BAD[kind]
    exchange, match = ByHand(tmp_path), a_match(rounds=3)
    play = over(exchange, match)
    play.start()
    play.run()
    before = play.server.known.buffers["client-2"].current
    exchange.spoils = {"client-2": spoil}
    play.rounds, play.end = 4, None
    lines = Following()
    play.run([lines])
    assert play.server.known.buffers["client-2"].current is before
    assert list(lines.records[0].moved) == ["client-1", "client-3"]
    assert set(lines.records[0].failures) == {"client-2"}
    with pytest.raises(AssertionError, match=why):  # the message is matched as a pattern
        raise AssertionError(lines.records[0].failures["client-2"])


def test_three_bad_answers_in_a_row_exclude_a_client(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=STRIKES)
    play = over(exchange, match)
    play.start()
    exchange.spoils = {"client-2": lambda header, tensors: b"noise"}
    lines = Following()
    play.run([lines])
    calls = exchange.calls
    play.rounds, play.end = STRIKES + 1, None
    play.run([lines])
    assert exchange.calls - calls == 4, "two clients, a response and a count: the third is asked no more"
    assert lines.records[-1].failures["client-2"].startswith("excluded after 3 refused answers in a row")


def test_who_counts_well_and_answers_badly_is_excluded_too(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=STRIKES + 1)
    play = over(exchange, match)
    play.start()
    exchange.spoils = {"client-2": poison(float("nan"))}
    lines = Following()
    play.run([lines])
    assert lines.records[STRIKES - 2].failures["client-2"].startswith("refused")
    assert lines.records[STRIKES].failures["client-2"].startswith("excluded")
    assert "client-2" not in lines.records[STRIKES].accuracy_of


def test_a_good_answer_forgives(tmp_path: Path) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=2)
    play = over(exchange, match)
    play.start()
    bad = poison(float("nan"))
    for spoils in ({"client-2": bad}, {}, {"client-2": bad}):
        exchange.spoils = spoils
        play.end = None
        play.run()
        play.rounds += 2
    assert play.federation.excluded == {}  # type: ignore[attr-defined]


def test_a_new_game_of_the_same_name_inherits_nothing(tmp_path: Path) -> None:
    """A server that died before its first checkpoint begins again; its clients' disks remember the first attempt."""
    match = a_match(rounds=4)
    first = over(ByHand(tmp_path, processes=2, forgets=True), match)
    first.start()
    first.rounds = 2
    first.run()
    again = played(over(ByHand(tmp_path, processes=2, forgets=True), match))
    assert torch.equal(flat(again.server), flat(played(here(match)).server))


def test_nobody_listens_to_a_stranger(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=2)
    exchange.strangers = {"mallory": b"let me in"}
    play = played(over(exchange, match))
    assert set(play.server.known.buffers) == set(CLIENTS)
    assert "mallory answered and was not asked: refused" in caplog.text


def test_what_is_too_large_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange, match = ByHand(tmp_path), a_match(rounds=1)
    play = over(exchange, match)
    play.start()
    exchange.spoils = {"client-2": lambda header, tensors: bytes(OVERSIZE * 100_000)}
    read: list[int] = []

    def watched(payload: bytes) -> tuple[AnswerHeader, Weights]:
        read.append(len(payload))
        return read_answer(payload)

    monkeypatch.setattr("flgames.engines.remote.read_answer", watched)
    play.run()
    assert read
    assert max(read) < OVERSIZE * 100_000


# States.


def test_a_run_goes_on_from_the_clients_own_disks_bit_for_bit(tmp_path: Path) -> None:
    match, sites = a_match(rounds=9), tmp_path / "sites"
    folder = GameFolder(tmp_path / "run", match)
    play_on(folder, ByHand(sites), match, interrupt_after=5, checkpoint_every=2)
    assert saved_rounds(next(sites.glob("client-1/run/*"))) == [2, 4, 5], "and those that the server may go back to"
    state = read_state(folder.path / "state.pt", Seal(match.key, match.seed, 5))
    assert state["clients"] == {}, "clients keep their own"
    # Everything that was in memory is gone.
    play_on(folder, ByHand(sites), match, checkpoint_every=2)
    undisturbed = GameFolder(tmp_path / "other", match)
    play_on(undisturbed, ByHand(tmp_path / "elsewhere"), match)
    assert (folder.path / "model.safetensors").read_bytes() == (undisturbed.path / "model.safetensors").read_bytes()
    assert not list(sites.rglob("*.pt")), "a match that has ended leaves nothing behind"


def test_it_goes_back_to_the_last_round_that_all_have(tmp_path: Path) -> None:
    """One client was away at the last checkpoints; the others still have the one before."""
    match, sites = a_match(rounds=10), tmp_path / "sites"
    folder = GameFolder(tmp_path / "run", match)
    exchange = ByHand(sites)
    leave_at = {5: {"client-2"}}
    play_on(folder, exchange, match, interrupt_after=8, checkpoint_every=2, away=leave_at)
    assert folder.saved_rounds == {4, 6, 8}
    play_on(folder, ByHand(sites), match)
    undisturbed = GameFolder(tmp_path / "other", match)
    play_on(undisturbed, ByHand(tmp_path / "elsewhere"), match)
    assert (folder.path / "model.safetensors").read_bytes() == (undisturbed.path / "model.safetensors").read_bytes()


def test_a_client_without_any_state_of_its_own_rejoins(tmp_path: Path) -> None:
    match, sites = a_match(rounds=8), tmp_path / "sites"
    folder = GameFolder(tmp_path / "run", match)
    play_on(folder, ByHand(sites), match, interrupt_after=4)
    for path in sites.glob("client-3/run/*/*.pt"):
        path.unlink()
    play_on(folder, ByHand(sites), match)
    assert folder.result().rounds == 8
    assert "no state of round 4" in folder.measures()[4].failures["client-3"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip])
def test_a_site_drops_a_damaged_state_and_catches_up(
    damage: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where every question meets a new process: one failure, and it is back with the next question."""
    match = a_match(rounds=8)
    folder = GameFolder(tmp_path / "run", match)

    class Damaging(Callback):
        def on_round(self, record: RoundRecord) -> None:
            if record.round == 2:
                damage(next(tmp_path.glob("client-2/run/*/now.pt")))

    exchange = ByHand(tmp_path, processes=2, forgets=True)
    connect = lambda match: RemoteFederation(exchange, "run", match, threads=1)  # noqa: E731
    Runner(CPU, [Damaging()], connect=connect).play(folder, match)
    failed = {record.round: record.failures["client-2"] for record in folder.measures() if record.failures}
    assert list(failed) == [3]
    assert "OutOfStep" in failed[3]
    assert "now.pt is damaged: its SHA-256" in caplog.text
    assert [("client-2" in record.moved) for record in folder.measures()[4:]] == [True] * 4


@pytest.mark.parametrize("damage", [cut, flip])
def test_a_damaged_state_of_a_round_is_none(damage: Callable[[Path], None], tmp_path: Path) -> None:
    """All go back to the checkpoint before, which the site has too."""
    match, sites = a_match(rounds=9), tmp_path / "sites"
    folder = GameFolder(tmp_path / "run", match)
    play_on(folder, ByHand(sites), match, interrupt_after=5, checkpoint_every=2)
    damage(next(sites.glob("client-3/run/*/round-5.pt")))
    play_on(folder, ByHand(sites), match)
    assert not any(record.failures for record in folder.measures())
    undisturbed = GameFolder(tmp_path / "other", match)
    play_on(undisturbed, ByHand(tmp_path / "elsewhere"), match)
    assert (folder.path / "model.safetensors").read_bytes() == (undisturbed.path / "model.safetensors").read_bytes()


def play_on(
    folder: GameFolder,
    exchange: ByHand,
    match: Match,
    interrupt_after: int | None = None,
    checkpoint_every: int = 0,
    away: Mapping[int, set[str]] | None = None,
) -> None:
    """Play a match, from where its folder says, maybe not to its end."""

    def connect(match: Match) -> RemoteFederation:
        return RemoteFederation(exchange, "run", match, threads=1)

    class Leaving(Callback):
        def on_round(self, record: RoundRecord) -> None:
            exchange.away = (away or {}).get(record.round + 1, exchange.away)

    def interrupted() -> bool:
        return interrupt_after is not None and len(folder.measures()) >= interrupt_after

    try:
        Runner(CPU, [Leaving()], interrupted, connect, checkpoint_every).play(folder, match)
    except Interrupted:
        assert interrupt_after


# Small parts.


def test_names_that_could_leave_the_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be a name"):
        Host("../client-1", SiteData("client-1"), tmp_path)
    host = Host("client-1", SiteData("client-1"), tmp_path)
    order = {
        "kind": "save",
        "run": "run",
        "match": a_match().model_dump(mode="json"),
        "threads": 1,
        "device": "cpu",
        "keep": [],
    }
    for wrong, why in (
        ({"run": "../../x"}, "can't be a name"),
        ({"round": "../x"}, "is no whole number"),
        ({"kind": "x"}, "'x'"),
    ):
        answer, _ = read_answer(host.handle(pack(order | {"round": 0} | wrong)))
        assert why in str(answer.error)
    assert not list(tmp_path.rglob("*.pt"))


@pytest.mark.parametrize(
    "confusion", [[[0, 0], [0, 0]], [[9, 0], [0, 9]], [[-5, 400], [20, 18]], [[400, 400], [400, 400]]]
)
def test_counts_that_can_not_be_are_refused(confusion: list[list[int]], tmp_path: Path) -> None:
    def spoil(header: dict[str, Any], tensors: Weights) -> bytes | None:
        return pack(header, {"confusion": torch.tensor(confusion)}) if "confusion" in tensors else None

    exchange, match = ByHand(tmp_path), a_match(rounds=1)
    play = over(exchange, match)
    play.start()
    exchange.spoils = {"client-2": spoil}
    lines = Following()
    play.run([lines])
    assert "samples, and 433 to 433 were to be counted" in lines.records[0].failures["client-2"]


def test_clients_play_in_the_same_order_on_every_machine() -> None:
    assert natural({"client-10", "client-9", "client-1"}) == ("client-1", "client-9", "client-10")


def test_all_clients_of_a_benchmark_must_be_played() -> None:
    with pytest.raises(UserError, match="is played by client-1, client-2, client-3; here are client-1, site-2"):
        check_players(a_match(), ("client-1", "site-2"))


def test_a_payload_that_was_cut_is_unreadable() -> None:
    payload = pack({"client": "a", "number": 1}, {"w": torch.ones(3)})
    for cut in (0, 4, 20, len(payload) - 1):
        with pytest.raises(Unreadable):
            unpack(payload[:cut])


def test_numbers_and_tensors_arrive_as_they_were_sent() -> None:
    sent = {"whole": torch.tensor(7), "half": torch.ones(2, dtype=torch.float16), "flags": torch.tensor([True])}
    header, tensors = unpack(pack({"number": 0.1 + 0.2, "none": None}, sent))
    assert header == {"number": 0.30000000000000004, "none": None}
    assert all(torch.equal(tensors[name], tensor) for name, tensor in sent.items())
