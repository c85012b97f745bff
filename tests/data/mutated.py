"""Files of data and of settings as accidents make them: cut, flipped, with odd cells, encrypted."""

from __future__ import annotations

import gzip
import io
import random
import re
from collections.abc import Callable

import numpy as np
import pandas
from PIL import Image

ROWS = 24

CELLS = (
    "1e39", "-1e39", "1e400", "inf", "-Infinity", "nan", "", " ", "?", "9" * 400, "9" * 5000, "1" + "0" * 30, "0x10",
    "1_000", "1,5", '"', "'", "\x00", "\n", "\r", "\ufeff", "٣", "²", "½", "é" * 300, "2024-02-30", "9999-12-31",
    "0001-01-01", "2024-01-01T25:00", "2024-01-01 00:00+99:99", "12/31/2024", "true", "FALSE", "None", "<NA>", "NaT",
    "🙂", "\ud7ff", "=1+1", "1e-400", "-0", "+5", "1.", ".5", "1e", "1j", "[1]", "{}", "a" * 200_000,
)  # fmt: skip
"""What somebody may find in a cell."""

TOKENS = (
    "[", "]", "[[a]]", "{}", "=", '"', "'''", "nan", "-inf", "1e400", "9" * 400, "9" * 5000, "0xff", "1979-05-27",
    "07:32:00", "1979-05-27T07:32:00Z", "true", "[]", "[1, 'a']", "[[1], [2]]", '{ a = 1 }', '"\\u0000"', '""', "-1",
    "0", "1.5", "1e-9", '"never"', '"auto"', '"all"', '"each"', '"rest"', '"none"', '"1-0"', '"0-10"', '"a/b"', "#",
    '"' + "x" * 5000 + '"', "[" * 2000, "a.b.c = 1", "\n", "[game]", "99999999999", "[0.1, 0.2, 0.3]", '["x", "y"]',
)  # fmt: skip
"""What somebody may write into a TOML file."""


def base_frame(seed: int) -> pandas.DataFrame:
    generator = np.random.default_rng(seed)
    sick = np.arange(ROWS) % 2
    return pandas.DataFrame(
        {
            "age": generator.normal(50 + 5 * sick, 10).round(2),
            "ward": generator.choice(["blue", "green"], ROWS),
            "seen": [f"2024-01-{day + 1:02d}" for day in range(ROWS)],
            "smokes": generator.choice(["true", "false"], ROWS),
            "sick": np.where(sick == 1, "yes", "no"),
        }
    )


def _separated(frame: pandas.DataFrame, separator: str = ",", header: bool = True) -> str:
    return str(frame.to_csv(index=False, sep=separator, header=header))


def _csv(seed: int) -> bytes:
    return _separated(base_frame(seed)).encode()


def _keel(seed: int) -> bytes:
    frame = base_frame(seed)[["age", "ward", "sick"]]
    header = "@relation r\n@attribute age real\n@attribute ward {blue, green}\n@attribute sick {yes, no}\n@data\n"
    return (header + _separated(frame, header=False)).encode()


def _parquet(seed: int) -> bytes:
    buffer = io.BytesIO()
    base_frame(seed).to_parquet(buffer)
    return buffer.getvalue()


def _npz(seed: int) -> bytes:
    buffer = io.BytesIO()
    frame = base_frame(seed)
    np.savez_compressed(buffer, X=frame[["age"]].to_numpy(), y=frame["sick"].to_numpy(str))
    return buffer.getvalue()


def _stack(seed: int) -> bytes:
    buffer = io.BytesIO()
    generator = np.random.default_rng(seed)
    np.savez(buffer, X=generator.integers(0, 255, (ROWS, 4, 4)).astype(np.uint8), y=np.arange(ROWS) % 2)
    return buffer.getvalue()


TABLES: dict[str, Callable[[int], bytes]] = {
    ".csv": _csv,
    ".tsv": lambda seed: _separated(base_frame(seed), "\t").encode(),
    ".csv.gz": lambda seed: gzip.compress(_csv(seed)),
    ".dat": _keel,
    ".parquet": _parquet,
    ".npz": _npz,
    "-images.npz": _stack,
}
"""By how their names end."""

PICTURES = {".png": "PNG", ".jpg": "JPEG", ".tif": "TIFF", ".bmp": "BMP"}


def picture(ending: str, seed: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (6, 6, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, PICTURES[ending])
    return buffer.getvalue()


def mutated(content: bytes, draw: random.Random, is_text: bool) -> bytes:
    """The same content after a few accidents."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(IN_TEXTS if is_text else IN_BYTES)(content, draw)
    return content


def _flip(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 4, 16)) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _twice(content: bytes, draw: random.Random) -> bytes:
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:last] + content[first:]


def _without(content: bytes, draw: random.Random) -> bytes:
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:first] + content[last:]


def _with_noise(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.randbytes(draw.randrange(1, 40)) + content[place:]


def _encrypted(content: bytes, draw: random.Random) -> bytes:
    """Nothing of it can be told; in a zip only its flag says so."""
    if not content.startswith(b"PK"):
        return draw.randbytes(len(content))
    return re.sub(rb"(PK\x01\x02....|PK\x03\x04..)..", lambda found: found[1] + b"\x01\x00", content, flags=re.DOTALL)


def _with_a_cell(content: bytes, draw: random.Random) -> bytes:
    """One cell, or all cells of a column, is another one."""
    lines = content.split(b"\n")
    cell, everywhere = draw.choice(CELLS).encode(errors="surrogatepass"), draw.random() < 0.3
    place = draw.randrange(5)
    for number in range(1, len(lines)) if everywhere else [draw.randrange(len(lines))]:
        separator = b"\t" if b"\t" in lines[number] else b","
        cells = lines[number].split(separator)
        if place < len(cells):
            cells[place] = cell
        lines[number] = separator.join(cells)
    return b"\n".join(lines)


def _with_lines(content: bytes, draw: random.Random) -> bytes:
    """Lines in another order, fewer of them, or one of them often."""
    lines = content.split(b"\n")
    chosen = draw.randrange(3)
    if chosen == 0:
        draw.shuffle(lines)
    elif chosen == 1:
        lines = lines[: draw.randrange(4)]
    else:
        lines += [draw.choice(lines)] * draw.randrange(30)
    return b"\n".join(lines)


def _recoded(content: bytes, draw: random.Random) -> bytes:
    return content.decode(errors="replace").encode(draw.choice(("utf-16", "utf-32", "utf-8-sig", "cp037")), "replace")


Mutation = Callable[[bytes, random.Random], bytes]
IN_BYTES: tuple[Mutation, ...] = (_flip, _flip, _cut, _twice, _without, _with_noise, _encrypted)
IN_TEXTS: tuple[Mutation, ...] = (_with_a_cell, _with_a_cell, _with_a_cell, _with_lines, _recoded, *IN_BYTES)


def settings_file(keys: list[str], draw: random.Random) -> bytes:
    """A TOML file with keys that there are, and values of any kind; sometimes it was damaged, too."""
    lines = [f"{draw.choice(keys)} = {draw.choice(TOKENS)}" for _ in range(draw.randrange(1, 4))]
    if draw.random() < 0.2:
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(TOKENS))
    content = "\n".join(lines).encode()
    return draw.choice((_flip, _cut, _twice, _with_noise))(content, draw) if draw.random() < 0.2 else content
