"""Settled games: what players disagree about is weighted away, then a network is trained. Ours, not the paper's."""
