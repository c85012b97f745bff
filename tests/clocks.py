"""Time that goes when it is told to."""

from __future__ import annotations


class Clock:
    """Stands for the module ``time``."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now
