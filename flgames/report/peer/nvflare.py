"""FedAvg of NVFlare, in its simulator, by its recipe and its client API. The same file is a client's script."""

# mypy: ignore-errors
from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import torch

from flgames.report.peer.work import SAMPLES, Network, main, samples, train


def play(kind: str, clients: int, rounds: int) -> list[float]:
    from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
    from nvflare.recipe.sim_env import SimEnv

    with tempfile.TemporaryDirectory() as folder:
        heard = Path(folder) / "clock.json"
        recipe = FedAvgRecipe(
            model={"class_path": "flgames.report.peer.work.Network", "args": {"kind": kind}},
            min_clients=clients,
            num_rounds=rounds + 2,
            train_script=__file__,
            train_args=f"client {kind} {heard}",
        )
        recipe.execute(SimEnv(num_clients=clients, workspace_root=str(Path(folder) / "workspace")))
        return json.loads(heard.read_text())[1:]


def be_client(kind: str, heard: Path) -> None:
    """Train whenever a model comes; the first site writes down when."""
    import nvflare.client as flare

    torch.set_num_threads(1)
    flare.init()
    number = int(flare.get_site_name().removeprefix("site-"))
    own, model, clock = samples(kind, number), Network(kind), []
    while flare.is_running():
        told = flare.receive()
        clock.append(time.perf_counter())
        if number == 1:
            heard.write_text(json.dumps(clock))
        model.load_state_dict({name: torch.as_tensor(value) for name, value in told.params.items()})
        train(model, *own)
        flare.send(flare.FLModel(params=model.state_dict(), meta={"NUM_STEPS_CURRENT_ROUND": SAMPLES}))


if __name__ == "__main__":
    if sys.argv[1] == "client":
        be_client(sys.argv[2], Path(sys.argv[3]))
    else:
        main(play)
