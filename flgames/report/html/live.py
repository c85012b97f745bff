"""A page that is served while a game is played: to this machine alone, and nothing but the page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flgames.errors import UserError
from flgames.report.html.page import Page
from flgames.report.html.render import html
from flgames.report.html.run_page import run_page
from flgames.runs.folder import RunFolder

LOOPBACK = "127.0.0.1"

WATCHED = (
    "settings.json",
    "plan.json",
    "*/measures.jsonl",
    "*/*/measures.jsonl",
    "*/*/*/measures.jsonl",
    "*/result.json",
    "*/*/result.json",
    "*/*/*/result.json",
    "results.json",
)
"""Files of a run that say that something has happened."""


class Live(ThreadingHTTPServer):
    """Serves the page of runs at / and what tells whether it is old at /stamp; there is nothing else."""

    daemon_threads = True

    def __init__(self, runs: Sequence[RunFolder], port: int = 0) -> None:
        self.runs = runs
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def hosts(self) -> set[str]:
        """What a browser on this machine calls us; another name was made to lead here."""
        return {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    def stamp(self) -> str:
        """Another one whenever something was written."""
        found = [_state(path) for run in self.runs for pattern in WATCHED for path in sorted(run.path.glob(pattern))]
        return str(hash(tuple(found)))

    def page(self) -> str:
        """As it is now; what can't be read in this moment is said on the page."""
        try:
            page = run_page([RunFolder.open(run.path) for run in self.runs])
        except UserError as error:
            page = Page("The run can't be read", str(self.runs[0].path), str(error))
        return html(page, live=True)


class _Handler(BaseHTTPRequestHandler):
    server: Live

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self._answer(403, "text/plain", "This page is for this machine alone.")
        elif self.path == "/":
            self._answer(200, "text/html", self.server.page())
        elif self.path == "/stamp":
            self._answer(200, "text/plain", self.server.stamp())
        else:
            self._answer(404, "text/plain", "There is nothing here.")

    def _answer(self, code: int, kind: str, text: str) -> None:
        body = text.encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the browser has left
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """A browser that looks every two seconds is no news."""


def serve(runs: Sequence[RunFolder], port: int, say: Callable[[str], None]) -> None:
    """Until Ctrl-C."""
    try:
        server = Live(runs, port)
    except OSError as error:
        raise UserError(f"`port` {port} can't be used: {error.strerror}.") from None
    with server:
        say(server.address)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)


def _state(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
        return str(path), found.st_mtime_ns, found.st_size
    except OSError:
        return str(path), 0, 0
