"""The game over NVIDIA FLARE."""

NEEDS = "nvflare"
"""The package without which it can't be used."""
