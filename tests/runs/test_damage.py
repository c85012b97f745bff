"""Files that were damaged are noticed: no flipped bit is resumed from, or evaluated, without a word.

``FLGAMES_FLIPS`` is how many bits are flipped, one after the other, in each kind of file.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from flgames.cli import app
from flgames.engines import launch
from flgames.errors import UserError
from flgames.files import write_json
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import Interrupted, play_run
from flgames.sealed import Damaged, Seal, read_state, read_tensors, write_state, write_tensors

FLIPS = int(os.environ.get("FLGAMES_FLIPS", "50"))
SHORT: dict[str, object] = {
    "rounds": 4, "against": "none", "stop_below": "never", "threads": 1, "sizes": (60, 40), "checkpoint_every": 2,
}  # fmt: skip


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def some_bits(content: bytes) -> list[int]:
    """Everywhere, and as many again where the seal is."""
    draw, bits = random.Random(0), 8 * len(content)
    return [draw.randrange(bits) for _ in range(FLIPS)] + [draw.randrange(min(bits, 8 * 400)) for _ in range(FLIPS)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Interrupted after three rounds of four."""
    run = RunFolder.create(tmp_path_factory.mktemp("damage") / "run", resolve(SHORT))
    ((_, folder),) = run.games()
    with pytest.raises(Interrupted):
        play_run(run, interrupted=lambda: len(folder.measures()) >= 3)
    return run


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = RunFolder.create(tmp_path_factory.mktemp("damage") / "ended", resolve(SHORT))
    play_run(run)
    return run


def copied(run: RunFolder, path: Path) -> tuple[RunFolder, GameFolder]:
    shutil.copytree(run.path, path)
    again = RunFolder.open(path)
    return again, again.games()[0][1]


def test_no_flipped_bit_of_a_checkpoint_is_resumed_from(begun: RunFolder, tmp_path: Path) -> None:
    _, folder = copied(begun, tmp_path / "run")
    last, before = folder.path / "state.pt", folder.path / "before.pt"
    content = last.read_bytes()
    before.unlink()
    for bit in some_bits(content):
        last.write_bytes(flipped(content, bit))
        with pytest.raises(UserError, match=r"damaged, or|damaged: its SHA-256|has the format"):
            folder.load_state()


def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    begun: RunFolder, ended: RunFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = (begun.games()[0][1].path / "state.pt").read_bytes()
    for number, damaged in enumerate((whole[:-100], flipped(whole, 40_000))):
        run, folder = copied(begun, tmp_path / str(number))
        (folder.path / "state.pt").write_bytes(damaged)
        result = CliRunner().invoke(app, ["play", "--resume", str(run.path)])
        assert result.exit_code == 0, result.output
        assert "state.pt is damaged: its SHA-256" in caplog.text
        assert "there is a state after round 2" in caplog.text
        ((_, undisturbed),) = ended.games()
        theirs, ours = (each.path / "model.safetensors" for each in (undisturbed, folder))
        assert theirs.read_bytes() == ours.read_bytes()
        assert len(folder.measures()) == 4


def test_who_resumes_a_simulation_is_told_of_a_damaged_checkpoint(
    begun: RunFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the process that a person looks at, before the engine's own is started."""
    run, folder = copied(begun, tmp_path / "run")
    (folder.path / "state.pt").write_bytes(b"nothing")

    def started(_: RunFolder) -> None:
        assert "there is a state after round 2" in caplog.text
        assert not (folder.path / "state.pt").exists()
        raise Interrupted

    monkeypatch.setattr(launch, "_started", started)
    with pytest.raises(Interrupted):
        launch.simulate(run, [], lambda: False)
    (folder.path / "before.pt").write_bytes(b"nothing")
    with pytest.raises(UserError, match="There is no other checkpoint"):
        launch.simulate(run, [], lambda: False)


def test_a_game_without_any_whole_checkpoint_says_so_and_touches_nothing(begun: RunFolder, tmp_path: Path) -> None:
    run, folder = copied(begun, tmp_path / "run")
    for name in ("state.pt", "before.pt"):
        (folder.path / name).write_bytes(b"")
    result = CliRunner().invoke(app, ["play", "--resume", str(run.path)])
    assert result.exit_code == 2
    assert "remove it, and this game begins anew" in result.output
    assert len(folder.measures()) == 3


def test_no_flipped_bit_of_a_model_is_evaluated(ended: RunFolder, tmp_path: Path) -> None:
    run, folder = copied(ended, tmp_path / "run")
    path = folder.path / "model.safetensors"
    content = path.read_bytes()
    for bit in some_bits(content):
        path.write_bytes(flipped(content, bit))
        with pytest.raises(Damaged):
            folder.weights()
    result = CliRunner().invoke(app, ["export", str(run.path), "--format", "safetensors", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "is damaged" in result.output


def test_no_flipped_bit_of_a_result_is_read(ended: RunFolder, tmp_path: Path) -> None:
    """Its temperature is a part of the model. White space may become another one: that changes nothing."""
    _, folder = copied(ended, tmp_path / "run")
    path, whole = folder.path / "result.json", folder.result()
    content = path.read_bytes()
    for bit in some_bits(content):
        path.write_bytes(flipped(content, bit))
        with suppress(Damaged):
            assert folder.result() == whole
            assert content[bit // 8 : bit // 8 + 1].isspace()


def test_a_result_of_before_has_no_sum(ended: RunFolder, tmp_path: Path) -> None:
    _, folder = copied(ended, tmp_path / "run")
    path, whole = folder.path / "result.json", folder.result()
    write_json(path, whole.saved())
    assert folder.result() == whole
    write_json(path, whole.saved() | {"sha257": "0"})
    with pytest.raises(Damaged, match="'sha257' is nothing that a result has"):
        folder.result()


def test_exports_can_be_checked_by_others(ended: RunFolder, tmp_path: Path) -> None:
    for kind in ("safetensors", "onnx"):
        result = CliRunner().invoke(app, ["export", str(ended.path), "--format", kind, "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
    command = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == ["MODEL_CARD.md: OK", "model.onnx: OK", "model.safetensors: OK"]


def test_a_model_of_before_says_that_it_has_no_seal(ended: RunFolder, tmp_path: Path) -> None:
    _, folder = copied(ended, tmp_path / "run")
    save_file(folder.weights(), folder.path / "model.safetensors")
    with pytest.raises(UserError, match="of a version of flgames that sealed no files"):
        folder.weights()


@pytest.mark.parametrize(
    "other", [Seal("other", 0, 3), Seal("match", 1, 3), Seal("match", 0, 4), Seal("match", 0, 3, "north")]
)
def test_a_file_of_another_game_is_refused(other: Seal, tmp_path: Path) -> None:
    """Whole as it is, it is not what was asked for."""
    seal, state, model = Seal("match", 0, 3), tmp_path / "state.pt", tmp_path / "model.safetensors"
    tensors = {"w": torch.arange(3.0)}
    write_state(state, tensors, seal)
    write_tensors(model, tensors, seal)
    assert torch.equal(read_tensors(model, seal)["w"], tensors["w"])
    assert isinstance(read_state(state, seal)["w"], torch.Tensor)
    with pytest.raises(Damaged, match="of another game"):
        read_state(state, other)
    with pytest.raises(Damaged, match="of another game"):
        read_tensors(model, other)
