"""Engines: where the clients live."""
