"""The page as one HTML text: template, style, scripts and data, each placed where the template names it."""

from __future__ import annotations

import base64
import gzip
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

#: The scripts in the order in which the page runs them.
SCRIPTS = ("tokens", "score", "dom", "overview", "rows", "nomogram", "charts", "quality", "columns", "main")
#: A model whose JSON text is longer is compressed; browsers decompress it when the page opens.
LONGEST_PLAIN = 200_000


def render_page(model_json: str, facts: dict[str, Any], title: str) -> str:
    """Return the page of a model: `model_json` is its JSON export, `facts` what the page shows beside the scores."""
    page = _file("page.html")
    parts = {
        "title": html.escape(title),
        "style": _file("page.css"),
        "script": "".join(_file(f"{name}.js") for name in SCRIPTS),
        "model": _data("model", model_json),
        "facts": _data(
            "facts", json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        ),
    }
    # The template is cut at its marks first, so that no text of the model is taken for a mark.
    pieces = page.split("{{")
    rendered = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        rendered += [parts[name], rest]
    return "".join(rendered)


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(name: str, text: str) -> str:
    """Return the element that holds JSON text: plain, or compressed if it is long."""
    if len(text) <= LONGEST_PLAIN:
        # Inside a script element only "<" could end it; JSON strings may write it as an escape.
        return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 4, mtime=0)).decode("ascii")
    return f'<script type="text/plain" id="{name}" data-packed="gzip">{packed}</script>'
