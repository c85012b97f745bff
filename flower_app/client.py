"""The ClientApp."""

from flgames.engines.flower.client import client_app

__all__ = ["client_app"]
