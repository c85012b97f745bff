"""Benchmarks and the samples of clients."""
