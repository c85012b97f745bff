"""A client's image files are decoded by several threads, once: what was decoded is remembered until a file changes.

It is remembered in memory, and, if somebody said so, in the user's cache. The cache goes by the SHA-256 of what files
have in them: names, sizes and times can be the same when pixels are not. Memory goes by sizes and times where these
are older than any clock is coarse, and else by the contents too.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypeVar

import torch

from flgames.data.own.bitmaps import BYTE, Bitmap, Bitmaps, Shape, bitmap, bits_in_use, unreadable
from flgames.data.own.kept import Kept
from flgames.waiting.told import tell

AT_ONCE = 16
"""Files that a thread takes: fewer, and handing them over costs more than reading them."""

SMALL = 4096
"""Bytes of a file: of smaller ones little is decoding, and threads take turns in what is not."""

COARSE = 2.0
"""Seconds that a file system's clock may be off: what was written so recently may be written again unseen."""

T = TypeVar("T")


class _Remembered(NamedTuple):
    stamps: list[tuple[int, ...]] | None
    """None: files were so new that times tell nothing."""
    contents: str
    bitmaps: Bitmaps


@dataclass
class Reader:
    """Decodes a client's files.

    Parameters
    ----------
    least_bits
        By how many bits a pixel files with more than a byte are scaled, at least.
    kept
        Where decoded pixels lie from one process to the next; None: nowhere.
    """

    client: str
    files: Sequence[Path]
    least_bits: int = BYTE
    kept: Kept | None = None
    _last: _Remembered | None = field(default=None, repr=False)

    def survey(self) -> Bitmaps:
        """All images as they are, but for the largest side."""
        return self._bitmaps(None)

    def fitted(self, shape: Shape) -> torch.Tensor:
        """All images in one shape."""
        return torch.from_numpy(self._bitmaps(shape).fitted(shape))

    def _bitmaps(self, shape: Shape | None) -> Bitmaps:
        began, stamps, last = time.time(), self._stamps(), self._last
        if last and last.bitmaps.serves(shape) and self._is_as_it_was(last, stamps):
            return last.bitmaps
        is_old = max(each for stamp in stamps for each in stamp[2:]) < (began - COARSE) * 1e9
        self._last = _Remembered(stamps if is_old else None, *(self._kept(shape) or self._read(shape)))
        return self._last.bitmaps

    def _kept(self, shape: Shape | None) -> tuple[str, Bitmaps] | None:
        """What the files have in them, and what is kept of it: in this shape, or as it was decoded for the survey."""
        if self.kept is None:
            return None
        contents = self._contents()
        found = (self.kept.read(contents, each, self.least_bits) for each in dict.fromkeys((shape, None)))
        return next(((contents, each) for each in found if each and each.serves(shape)), None)

    def _read(self, shape: Shape | None) -> tuple[str, Bitmaps]:
        read = list(self._each(lambda path: self._decoded(path, shape, self.least_bits)))
        largest = max((each.largest for _, each in read if each.largest is not None), default=0)
        bits = bits_in_use(largest, self.least_bits)
        for number, (_, each) in enumerate(read):  # files that use fewer bits than others at the site
            if each.largest is not None and bits_in_use(each.largest, self.least_bits) != bits:
                read[number] = self._decoded(self.files[number], shape, bits)
        contents = _together(digest for digest, _ in read)
        bitmaps = Bitmaps.of([each for _, each in read], bits, shape)
        if self.kept:
            self.kept.write(contents, self.least_bits, bitmaps)
        return contents, bitmaps

    def _is_as_it_was(self, last: _Remembered, stamps: list[tuple[int, ...]]) -> bool:
        return stamps == last.stamps if last.stamps else self._contents() == last.contents

    def _stamps(self) -> list[tuple[int, ...]]:
        """What tells a file from what it was before, unless it was changed a moment ago."""
        return [_stamp(self.client, path) for path in self.files]

    def _contents(self) -> str:
        return _together(self._each(lambda path: _digest(_content(self.client, path))))

    def _decoded(self, path: Path, shape: Shape | None, least_bits: int) -> tuple[bytes, Bitmap]:
        content = _content(self.client, path)  # what is hashed is what is decoded, whoever writes meanwhile
        return _digest(content), bitmap(self.client, path, content, shape, least_bits)

    def _each(self, work: Callable[[Path], T]) -> Iterator[T]:
        """Something done to all files by several threads; in their order, so that the first bad one is what is told."""
        parts = [self.files[first : first + AT_ONCE] for first in range(0, len(self.files), AT_ONCE)]
        some = [_stamp(self.client, path)[1] for path in self.files[:: max(1, len(self.files) // AT_ONCE)]]
        threads = torch.get_num_threads() if fmean(some) > SMALL else 1
        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            done = 0
            for results in (pool.map if pool else map)(lambda part: [work(path) for path in part], parts):
                yield from results
                done += len(results)
                tell(f"reading the images of {self.client}", done, len(self.files))


def _stamp(client: str, path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        raise unreadable(client, path) from None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _content(client: str, path: Path) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # a second buffer is a third of the time of a small file
            return file.read()
    except OSError:
        raise unreadable(client, path) from None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _together(digests: Iterator[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()
