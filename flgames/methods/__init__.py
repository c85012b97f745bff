"""Methods: one file each, one contract for all."""

from flgames.methods.base import Method, Move

__all__ = ["Method", "Move"]
