"""KEEL's table files: a header that declares columns, and rows of words with commas between them."""

from __future__ import annotations

import re
from pathlib import Path


def read_keel(path: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, list[str]]]:
    """The words that each column may have, where the header lists them, and all columns by name."""
    header, is_there, body = path.read_text().partition("@data")
    if not is_there:
        raise ValueError(f"{path} has no @data")
    words: dict[str, tuple[str, ...]] = {}
    for line in header.splitlines():
        if declared := re.match(r"@attribute (\S+)\s+(?:\{(.*)\})?", line):
            words[declared[1]] = tuple(word.strip() for word in (declared[2] or "").split(",") if word)
    rows = [line.split(",") for line in body.split("\n") if line.strip()]
    if not rows or any(len(row) != len(words) for row in rows):
        raise ValueError(f"{path} has rows with other columns than its header")
    columns = {name: [row[place].strip() for row in rows] for place, name in enumerate(words)}
    return words, columns
