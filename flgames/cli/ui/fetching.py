"""What a person sees while data are fetched."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.mirrors import Listener
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.sites import Sites


class FetchBar(Listener):
    """A progress bar for one data set; in a log, a line for every source that is asked. Use as a context manager."""

    def __init__(self, console: Console, wanted: Published[Any]) -> None:
        self.console = console
        self._title = wanted.title
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task: TaskID | None = None
        self._source = self.where = ""

    def __enter__(self) -> FetchBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def trying(self, source: str) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._source = None, source

    def progress(self, done: int, total: int) -> None:
        if self._task is None:
            self._task = self._bar.add_task(f"{self._title} from {self._source}", total=None)
            if not self.console.is_terminal:
                self.console.print(f"fetching {self._title} from {self._source} ...", soft_wrap=True)
        self._bar.update(self._task, completed=done, total=total or None)

    def found(self, where: str) -> None:
        self.where = where

    def failed(self, source: str, why: str) -> None:
        self.console.print(f"{self._title}: {source}: {why}", style="yellow", soft_wrap=True)


def fetch(source: Benchmark | Sites, console: Console, offline: bool = False) -> str:
    """Have a benchmark's data at hand, with a bar if they must be downloaded, and say where they were."""
    source.check()
    found = []
    for wanted in source.published:
        with FetchBar(console, wanted) as bar:
            wanted.fetch(bar, offline)
        found.append(f"{wanted.title}: {bar.where}" if len(source.published) > 1 else bar.where)
    return "; ".join(found) or source.origin
