"""Data sets that somebody publishes: asked for in one place after the other, verified by one SHA-256, and kept."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from flgames.data.benchmarks.mirrors import Folder, Listener, Source
from flgames.data.variables import FOLDER_VARIABLE, cache_folder, is_offline, own_folder
from flgames.errors import UserError

CACHE = "cache"

UNUSABLE = (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError)
"""How sources that are missing, and files that are cut short or altered, make themselves known."""


class Content(Protocol):
    """What a published data set is once it is decoded."""

    def sha256(self) -> str:
        """Of what was decoded, whatever file it came from."""

    def save(self, path: Path) -> None:
        """Write it as one file, which can be loaded again."""


Decoded = TypeVar("Decoded", bound=Content, covariant=True)


@dataclass(frozen=True)
class Published(Generic[Decoded]):
    """A data set that somebody publishes.

    Own folder, cache, copy on the machine, publishers' mirrors and package mirrors are tried in this order. What
    comes out of any of them is decoded and must have the same SHA-256, so that the sources can't differ.

    Parameters
    ----------
    read
        Decodes the files of a folder.
    load
        Reads the file that we kept.
    files
        What to put into a folder of one's own, for people.
    sign
        A pattern for one of them, by which a folder is known to hold the set.
    homes
        Where they lie inside a folder of data: under their own name, or where torchvision puts them.
    """

    name: str
    title: str
    sha256: str
    read: Callable[[Path], Decoded]
    load: Callable[[Path], Decoded]
    files: str
    sign: str
    homes: tuple[str, ...]
    elsewhere: tuple[Source, ...]

    def __call__(self, seed: int) -> Decoded:
        """How a benchmark asks: the same for all seeds."""
        return self.fetch()

    def at_hand(self) -> Published[Decoded]:
        """The same set, which is never downloaded."""
        return replace(self, elsewhere=tuple(source for source in self.elsewhere if not source.is_remote))

    @property
    def kept(self) -> Path:
        """The file in the cache."""
        return cache_folder() / f"{self.name}.npz"

    def sources(self, offline: bool = False) -> Iterator[Source]:
        own = own_folder()
        if own:
            yield Folder(f"{FOLDER_VARIABLE}={own}", own)
        yield Folder(CACHE, cache_folder())
        for source in self.elsewhere:
            if not (source.is_remote and (offline or is_offline())):
                yield source

    def fetch(self, listener: Listener | None = None, offline: bool = False) -> Decoded:
        """The data from the first source that has them, verified, and kept in the cache if they were downloaded."""
        listener = listener or Listener()
        tried: list[str] = []
        is_spoilt = False
        for source in self.sources(offline):
            with tempfile.TemporaryDirectory(prefix="flgames-", ignore_cleanup_errors=True) as scratch:
                listener.trying(source.name)
                try:
                    content, place = self._verified(source.fetch(Path(scratch), listener))
                except UNUSABLE as error:
                    why = (str(error).strip().splitlines() or [type(error).__name__])[0]
                    tried.append(f"{source.name}: {why}")
                    if source.is_remote or not isinstance(error, FileNotFoundError):
                        listener.failed(source.name, why)
                        is_spoilt |= source.name == CACHE
                    continue
            found = source.name if source.is_remote else str(place)
            if source.is_remote or is_spoilt:
                found += f", kept in {self.kept}" if self._keep(content, listener) else ""
            listener.found(found)
            return content
        raise UserError(f"{self.title} can't be had. Tried " + "; ".join(tried) + ". " + self._remedy(offline))

    def where(self, offline: bool = False) -> str:
        """Where it would come from on this machine: what is at hand, or else what would be asked. Verifies nothing."""
        ahead = []
        for source in self.sources(offline):
            if isinstance(source, Folder):
                place = self._place(source.path)
                if place:
                    return f"{place} (verified when it is used)"
            else:
                ahead.append(source.name)
        return "fetch: " + ", or ".join(ahead) if ahead else "not here, and offline"

    def _place(self, folder: Path) -> Path | None:
        """A file that we kept ourselves, here or on another machine, or else a folder of published files."""
        homes = [folder, *(folder / home for home in self.homes)]
        kept = (home / self.kept.name for home in homes)
        found = (home for home in (*homes[1:], folder) if any(home.glob(self.sign)))
        return next((file for file in kept if file.exists()), None) or next(found, None)

    def _verified(self, folder: Path) -> tuple[Decoded, Path]:
        place = self._place(folder)
        if place is None:
            raise FileNotFoundError(f"no {self.kept.name} and no {self.sign} in {folder}")
        try:
            content = self.load(place) if place.is_file() else self.read(place)
        except FileNotFoundError as error:
            if not place.exists():  # another process has taken it away since
                raise
            raise ValueError(f"{place} is incomplete: there is no {error.filename}") from None
        except Exception as error:  # decoders say all sorts of things of a damaged file
            raise ValueError(str(error) if str(place) in str(error) else f"{place} is damaged ({error})") from None
        if content.sha256() != self.sha256:
            raise ValueError(f"{place} does not hold {self.title} as published (SHA-256 differs)")
        return content, place

    def _keep(self, content: Content, listener: Listener) -> bool:
        try:
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            content.save(self.kept)
            return True
        except OSError as error:
            listener.failed(CACHE, f"{self.kept} can't be written ({error.strerror}); it will be fetched again")
            return False

    def _remedy(self, offline: bool) -> str:
        online = " Without `offline` it can be downloaded." if offline or is_offline() else ""
        return (
            f"Put {self.files} into a folder {self.homes[0]} and set {FOLDER_VARIABLE} to the folder around it, "
            f"or copy {self.kept.name} there from the cache of a machine that has it.{online}"
        )
