"""Data that people bring: files or arrays, surveyed, laid out alike for all clients."""

OWN_DATA = "own-data"
"""What is played instead of a benchmark."""
