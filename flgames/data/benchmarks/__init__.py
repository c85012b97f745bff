"""Benchmarks: what they are composed of, where their images come from, and all of them by name."""
