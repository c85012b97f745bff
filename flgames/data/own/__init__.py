"""Data that people bring: found in a folder, surveyed, laid out alike for all clients."""
