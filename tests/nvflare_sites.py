"""A real NVFlare federation on loopback: provisioned with mutual TLS, every site a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from flgames.cli import app
from flgames.engines import processes
from flgames.engines.launch import QUIET
from flgames.engines.nvflare.app import STATES

ADMIN = "admin@example.com"
NVFLARE = str(Path(sys.executable).parent / "nvflare")
DOCS = Path(__file__).parent.parent / "docs" / "across-sites.md"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def on_all_cores() -> None:
    """Before a process starts: tests have a core each (conftest.py), and sites are many processes."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def project(port: int, clients: int) -> str:
    """The project file that docs/across-sites.md shows, with this port and so many clients."""
    text: str
    (text,) = re.findall(r"```yaml\n(api_version.*?)```", DOCS.read_text(), re.DOTALL)
    shown = re.findall(r"  - \{name: client-\d+, type: client.*\n", text)
    made = [shown[0].replace("client-1", f"client-{k}") for k in range(1, clients + 1)]
    return text.replace("".join(shown), "".join(made)).replace("fl.example.com", "localhost").replace("8002", str(port))


def write_job(out: Path, run: str, *options: str) -> Path:
    """What `flgames nvflare job` writes."""
    result = CliRunner().invoke(app, ["nvflare", "job", str(out), "--run", run, *options])
    assert result.exit_code == 0, result.output
    return out


class Sites:
    """The processes of a federation. Leaves none behind."""

    def __init__(self, folder: Path, clients: int) -> None:
        self.folder = folder
        self.clients = [f"client-{k}" for k in range(1, clients + 1)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environments: dict[str, dict[str, str]] = {}
        """What a site's processes have in their environment beside the usual."""
        self.port = free_port()
        (folder / "project.yml").write_text(project(self.port, clients))
        command = [NVFLARE, "provision", "-p", "project.yml", "-w", "kits"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
        self.kits = folder / "kits" / "flgames" / "prod_00"
        self._store_jobs_here()

    def _store_jobs_here(self) -> None:
        """By default every federation of a machine shares a folder under the system's temporary one."""
        local = self.kits / "localhost" / "local"
        text = (local / "resources.json.default").read_text()
        (local / "resources.json").write_text(text.replace("/tmp/nvflare", str(self.folder / "storage")))

    def start(self, name: str) -> None:
        kit = self.kits / name
        kind, more = ("server", []) if name == "localhost" else ("client", [f"uid={name}"])
        module = f"nvflare.private.fed.app.{kind}.{kind}_train"
        settings = ["secure_train=true", "org=example", "config_folder=config", *more]
        command = [sys.executable, "-u", "-m", module, "-m", str(kit), "-s", f"fed_{kind}.json", "--set", *settings]
        with open(self.folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                command, cwd=kit, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=on_all_cores,
                env=os.environ | QUIET | {"OMP_NUM_THREADS": "1", processes.MARK: self.mark(name)}
                | self.environments.get(name, {}),
            )  # fmt: skip

    def heal(self) -> None:
        """Start again what was killed, so that the next test finds all of them."""
        for name in ("localhost", *self.clients):
            if name not in self._processes or self._processes[name].poll() is not None:
                self.start(name)
        self.wait_for_clients()

    def kill(self, name: str) -> None:
        """A site with all of its processes, at once."""
        processes.kill(self.mark(name))
        self._processes.pop(name).wait()

    def stop(self) -> None:
        for name in list(self._processes):
            self.kill(name)
        assert not [each for name in ("localhost", *self.clients) for each in processes.marked(self.mark(name))]

    def mark(self, name: str) -> str:
        return str(self.kits / name)

    def kill_job_process(self, client: str) -> None:
        """The process in which a client plays; its site stays."""
        (job,) = [each for each in processes.marked(self.mark(client)) if "worker_process" in " ".join(each.cmdline())]
        job.kill()

    def nvflare(self, *command: str, timeout: float = 60) -> dict[str, Any]:
        """What NVFlare's own command line says, as the admin."""
        kit = ["--startup-kit", str(self.kits / ADMIN)]
        done = subprocess.run([NVFLARE, "--format", "json", *command, *kit], capture_output=True, timeout=timeout)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer.get("data") or answer

    def wait_for_clients(self, timeout: float = 90) -> None:
        deadline = time.monotonic() + timeout
        while len(self.nvflare("system", "status").get("clients", [])) < len(self.clients):
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.5)

    def submit(self, job: Path) -> str:
        return str(self.nvflare("job", "submit", "-j", str(job))["job_id"])

    def wait_for_end(self, job: str, timeout: float = 120) -> str:
        return str(self.nvflare("job", "wait", job, timeout=timeout)["status"])

    def run_folder(self, run: str) -> Path:
        return self.kits / "localhost" / STATES / run

    def lines(self, run: str) -> list[bytes]:
        """What a run has written of its rounds so far."""
        paths = list(self.run_folder(run).glob("*/seed-0/measures.jsonl"))
        return paths[0].read_bytes().splitlines() if paths else []

    def rounds(self, run: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines(run)]

    def wait_for_round(self, run: str, number: int, timeout: float = 90) -> None:
        deadline = time.monotonic() + timeout
        while len(self.lines(run)) < number:
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.05)

    def wait_for_file(self, run: str, name: str, timeout: float = 90) -> None:
        deadline = time.monotonic() + timeout
        while not (self.run_folder(run) / name).exists():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.2)

    def logs(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log"))


@contextmanager
def sites(folder: Path, clients: int = 2, environments: Mapping[str, dict[str, str]] | None = None) -> Iterator[Sites]:
    """A federation that is up: all sites started, all clients registered."""
    federation = Sites(folder, clients)
    federation.environments |= environments or {}
    try:
        for name in ("localhost", *federation.clients):
            federation.start(name)
        federation.wait_for_clients()
        yield federation
    finally:
        federation.stop()
        shutil.rmtree(folder / "storage", ignore_errors=True)
