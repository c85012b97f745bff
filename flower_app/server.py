"""The ServerApp."""

from flgames.engines.flower_server import server_app

__all__ = ["server_app"]
