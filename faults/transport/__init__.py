"""What NVFlare adds to a game, in seconds and in bytes: ``python -m faults.transport``."""
