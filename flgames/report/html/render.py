"""A page as one file: text, charts, their data and the program that draws them. It asks the network for nothing.

Every name is escaped. Scripts are named by their hashes in the page's own policy, so that a browser runs these and no
others, whatever a client is called.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from flgames.errors import UserError
from flgames.files import write_atomically
from flgames.report.html.page import Page

REPORT = "report.html"
"""What the file of a run is called."""

LARGEST = 3_000_000
"""Bytes of a file that people send each other."""

VEGA_LITE = "6.4"


def write(path: Path, page: Page) -> Path:
    """Write a page; what can't be written is said in a sentence."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, html(page))
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}.") from None
    return path


def html(page: Page, live: bool = False) -> str:
    """The whole text of a page; ``live``: one that looks for news at the server that it came from."""
    environment = _environment()
    scripts = [_library(), _source("page.js")] if page.charts else [_source("page.js")]
    style = _source("page.css")
    policy = [
        "default-src 'none'",
        "img-src data:",
        "style-src 'unsafe-inline'",
        "script-src " + " ".join(f"'sha256-{_hash(each)}'" for each in scripts),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if live:
        policy.append("connect-src 'self'")
    specs = [{"spec": chart.spec, "series": list(chart.series)} for chart in page.charts]
    return environment.get_template("page.html").render(
        page=page,
        live=live,
        policy="; ".join(policy),
        style=Markup(style),
        scripts=[Markup(each) for each in scripts],
        charts=_json(specs),
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("flgames.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["markdown"] = _markdown
    return made


def _markdown(text: str) -> Markup:
    """Markdown without HTML in it: tags are shown as they were typed."""
    made = MarkdownIt("js-default").disable(["image", "linkify"]).render(text)
    return Markup(
        made.replace(
            "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="A table of the card"><table>'
        ).replace("</table>", "</table></div>")
    )


def _json(value: Any) -> Markup:
    """For a script element: no letter in it can end one."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one program, from the wheel that Vega's makers publish."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    # In a function of its own: it declares short names. No text in it may end its element.
    return f"(() => {{{bundle}}})();".replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def _source(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text()


@cache
def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
