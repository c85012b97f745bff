"""The ClientApp."""

from flgames.engines.flower_client import client_app

__all__ = ["client_app"]
