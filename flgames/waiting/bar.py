"""The bar that people see while they wait; in a log, a line now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from flgames.waiting.forecast import Forecast, duration
from flgames.waiting.told import telling

LOG_SECONDS = 30.0

REFRESHED = 2
"""Times a second: drawing takes time from what is waited for."""


class WorkBar:
    """A progress bar with the time left; in a log, a line now and then. Use as a context manager."""

    def __init__(self, console: Console, forecast: Forecast) -> None:
        self.console = console
        self.forecast = forecast
        columns = (
            BarColumn(bar_width=20), TimeElapsedColumn(), TextColumn("{task.fields[left]}  {task.description}")
        )  # fmt: skip
        self._is_live = console.is_terminal or console.is_jupyter
        self._bar = Progress(
            *columns, console=console, transient=True, disable=not self._is_live, refresh_per_second=REFRESHED
        )
        self._task = self._bar.add_task("getting ready ...", total=forecast.total or 1.0, left="")
        self._printed_at = self._began = time.monotonic()

    def __enter__(self) -> WorkBar:
        self._began = time.monotonic()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def elapsed(self) -> float:
        """Seconds of work so far."""
        return time.monotonic() - self._began

    def begin(self) -> None:
        """Work of another kind begins: what was done says nothing of its pace."""
        self._began = time.monotonic()
        self._bar.reset(self._task)

    def __call__(self, part: str, fraction: float, what: str) -> None:
        """A part is done to this fraction; ``what`` describes where it stands."""
        self.forecast.reached(part, fraction)
        self.say(what)

    def say(self, what: str) -> None:
        """What is done now."""
        now = time.monotonic()
        left = f"{duration(self.forecast.left(self.elapsed))} left" if self.forecast.is_measured else ""
        self._bar.update(self._task, completed=self.forecast.done, description=what, left=left)
        if not self._is_live and now - self._printed_at >= LOG_SECONDS:
            self._printed_at = now
            self.console.print(f"{left}: {what}" if left else what, soft_wrap=True)


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """A bar for whatever work inside tells of."""
    with WorkBar(console, Forecast({"": 1.0})) as bar:

        def hear(what: str, done: int, total: int) -> None:
            fraction = done / max(total, 1)
            if fraction < bar.forecast.done or not done:
                bar.begin()
            bar("", fraction, what)

        with telling(hear):
            yield
