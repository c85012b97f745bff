"""A real Flower deployment on loopback: a SuperLink with TLS, nodes with registered keys."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trustme

from flgames.engines import processes
from flgames.engines.launch import QUIET
from tests.nvflare_sites import free_port, on_all_cores

BIN = Path(sys.executable).parent
APP = Path(__file__).parent.parent
LINK = "loopback"


class Deployment:
    """The processes of a deployment. Leaves none behind."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.nodes = range(nodes)
        self.port = free_port()
        self.environment = (
            os.environ
            | QUIET
            | {
                "FLWR_HOME": str(folder / "home"),
                "OMP_NUM_THREADS": "1",
                "PATH": f"{BIN}:{os.environ['PATH']}",  # Flower starts commands of its own by name
            }
        )
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environments: dict[int, dict[str, str]] = {}
        self.configurations: dict[int, str] = {}
        """What a node has in its environment, and in its configuration, beside the usual."""
        self.by_flower: set[int] = set()
        """Nodes that are Flower's own SuperNodes, and start a process for every message."""
        (folder / "home").mkdir()
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "ca.crt"))
        certificate = authority.issue_cert("localhost", "127.0.0.1")
        certificate.cert_chain_pems[0].write_to_path(str(folder / "server.crt"))
        certificate.private_key_pem.write_to_path(str(folder / "server.key"))
        for node in (*self.nodes, "unknown"):
            self.make_key(f"node-{node}")
        (folder / "home" / "config.toml").write_text(
            f'[superlink.{LINK}]\naddress = "127.0.0.1:{self.port}"\nroot-certificates = "{folder / "ca.crt"}"\n'
        )

    def make_key(self, name: str) -> None:
        command = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", str(self.folder / name)]
        subprocess.run(command, check=True)

    def register(self, name: str) -> None:
        self.flwr("supernode", "register", str(self.folder / f"{name}.pub"), LINK)

    def start_link(self) -> None:
        self._start(
            "link", "flower-superlink", "--host", "127.0.0.1", "--port", str(self.port),
            "--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.crt", "--ssl-keyfile", "server.key",
            "--enable-supernode-auth", "--disable-runtime-dependency-installation",
        )  # fmt: skip
        trusting = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"https://127.0.0.1:{self.port}/health", timeout=2, context=trusting)
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                assert time.monotonic() < deadline, self.logs()
                time.sleep(0.3)

    def start_node(self, node: int, key: str | None = None, authority: str = "ca.crt") -> None:
        state = self.folder / f"state-{node}"
        supernode = ("flower-supernode", "--host", "127.0.0.1", "--port", str(free_port()))
        self._start(
            f"node-{node}", *(supernode if node in self.by_flower else ("flgames", "flower", "node")),
            "--superlink", f"127.0.0.1:{self.port}", "--root-certificates", authority,
            "--auth-supernode-private-key", key or f"node-{node}",
            "--node-config", f'partition-id={node} state="{state}" {self.configurations.get(node, "")}',
            environment=self.environments.get(node),
        )  # fmt: skip

    def start_node_again(self, node: int, timeout: float = 90) -> None:
        """One that was killed. Flower refuses its key until it has noticed that it is gone."""
        deadline = time.monotonic() + timeout
        while True:
            self.start_node(node)
            process = self._processes[f"node-{node}"]
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                return
            assert time.monotonic() < deadline, self.logs()

    def _start(self, name: str, command: str, *options: str, environment: dict[str, str] | None = None) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                [BIN / command, *options], cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=on_all_cores,
                env=self.environment | {processes.MARK: self.mark(name)} | (environment or {}),
            )  # fmt: skip

    def exit_code(self, name: str, timeout: float = 60) -> int:
        """Of a process that ends by itself."""
        return self._processes[name].wait(timeout)

    def kill(self, name: str) -> None:
        """At once, with all that belongs to it."""
        processes.kill(self.mark(name))
        self._processes.pop(name).wait()

    def stop(self) -> None:
        names = list(self._processes)
        for name in names:
            self.kill(name)
        assert not [each for name in names for each in processes.marked(self.mark(name))]

    def mark(self, name: str) -> str:
        return str(self.folder / name)

    def flwr(self, *command: str, timeout: float = 90) -> dict[str, Any]:
        """What Flower's own command line says."""
        done = subprocess.run(
            [BIN / "flwr", *command, "--format", "json"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()
        found: dict[str, Any] = json.loads(re.sub(r"^[^{\[]*", "", done.stdout))
        return found

    def run(self, app: Path = APP, **settings: Any) -> str:
        """Start a run of the app; its number."""
        given = " ".join(f"{name.replace('_', '-')}={json.dumps(value)}" for name, value in settings.items())
        return str(self.flwr("run", str(app), LINK, "--run-config", given)["run-id"])

    def log_of(self, run: str) -> str:
        """What its ServerApp said."""
        command = [str(BIN / "flwr"), "log", run, LINK, "--show"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=90
        )  # fmt: skip
        return done.stdout + done.stderr

    def status(self, run: str) -> str:
        (found,) = self.flwr("ls", "--run-id", run, LINK)["runs"]
        return str(found["status"])

    def wait_for(self, path: Path, run: str, timeout: float = 400) -> None:
        """Until a run has written a file. Flower is asked now and then only: each question keeps a core busy."""
        deadline, ask = time.monotonic() + timeout, time.monotonic() + 20
        while not path.exists():
            ended = [name for name, process in self._processes.items() if process.poll() is not None]
            assert not ended, self.logs()
            if time.monotonic() > ask:
                ended_now = self.status(run).startswith("finished")
                assert path.exists() or not ended_now, self.logs()  # it may have been written meanwhile
                ask = time.monotonic() + 20
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.3)

    def wait_for_end(self, run: str, timeout: float = 30) -> str:
        deadline = time.monotonic() + timeout
        while not (status := self.status(run)).startswith("finished"):
            assert time.monotonic() < deadline, self.logs()
            time.sleep(1)
        return status

    def logs(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log"))


@contextmanager
def deployment(
    folder: Path, nodes: int = 2, set_up: Callable[[Deployment], None] = lambda _: None
) -> Iterator[Deployment]:
    """A SuperLink that knows the keys of its nodes, which are up."""
    made = Deployment(folder, nodes)
    set_up(made)
    try:
        made.start_link()
        for node in made.nodes:
            made.register(f"node-{node}")
            made.start_node(node)
        yield made
    finally:
        made.stop()
