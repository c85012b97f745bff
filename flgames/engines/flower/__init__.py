"""The game over Flower."""

NEEDS = "flwr"
"""The package without which it can't be used."""
