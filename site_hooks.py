"""What the documentation site needs beyond its pages: results, the gallery, and links that lead out of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent
GALLERY = ROOT / "build" / "gallery"
"""What `make gallery` has made; a site without them has their names."""
SHOWN = (".png", ".csv", ".md")
OUT_OF_DOCS = re.compile(r"(!?)\[([^\]]*)\]\(\.\./([^)#]*)(#[^)]*)?\)")
"""A link such as [the table](../results/table.md), which GitHub follows and a site can't."""


def on_files(files: Files, config: Any) -> Files:
    """The results are part of the site, under evidence/."""
    for path in sorted((ROOT / "results").iterdir()):
        if path.suffix in SHOWN:
            files.append(File.generated(config, f"evidence/{path.name}", abs_src_path=str(path)))
    for path in sorted(GALLERY.glob("*.html")):
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links out of docs/ lead to where the site has their targets, or are words."""

    def mended(link: re.Match[str]) -> str:
        picture, text, target, _ = link.groups()
        if target.startswith("results/") and target.endswith(SHOWN):
            return f"{picture}[{text}](evidence/{target.removeprefix('results/')})"
        if target.startswith("build/gallery/") and (ROOT / target).exists():
            return f"[{text}](gallery/{Path(target).name})"
        return text

    return OUT_OF_DOCS.sub(mended, markdown)
