"""A long game over a real NVFlare federation whose sites are killed now and then: ``python -m faults.soak``."""
