"""Settings of the documentation site. `make site` builds it; tests/test_site.py builds it with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))

project = "Sunrise"
author = copyright = "the authors of Sunrise"
version = release = re.search(r'^version = "(.*)"', (HERE.parent / "Cargo.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "public_names"]
exclude_patterns = ["_build", "_site"]
nitpicky = True
smartquotes = False  # quotes are part of code

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "doi": None}

html_theme = "furo"
html_title = f"Sunrise {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_domain_indices = False  # names are found by the search
highlight_language = "text"  # indented blocks are output; Python is fenced

default_role = "code"  # docstrings write `name` as Markdown does
autodoc_typehints = "none"  # the text says what may be passed
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = False
nitpick_ignore_regex = [("py:.*", ".*")]  # types are described in words, as in "str or None"
add_module_names = False
python_use_unqualified_type_names = True

#: Files outside of docs/ that pages link to, and the page of the site that shows the file.
SHOWN_BY = {
    "benchmarks/RESULTS.md": "project/benchmarks.md",
    "ARCHITECTURE.md": "project/how-it-works.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
}


def link_inside(app: Any, docname: str, source: list[str]) -> None:
    """Let links that leave docs/, which readers of the repository follow, lead to a page of the site."""
    up = "../" * docname.count("/")
    for file, page in SHOWN_BY.items():
        source[0] = source[0].replace(f"]({up}../{file}", f"]({up}{page}")
    if docname == "index":  # a page that no list of contents names follows the user guide
        others = sorted(
            p.stem for p in HERE.glob("*.md") if not re.search(rf"^{p.stem}$", source[0], re.MULTILINE)
        )
        source[0] = source[0].replace("OTHER PAGES", "\n".join(name for name in others if name != "index"))


def link_included(app: Any, path: Path, docname: str, source: list[str]) -> None:
    """The same for the files of the repository's root that a page of docs/project/ includes."""
    for file, page in SHOWN_BY.items():
        source[0] = source[0].replace(f"]({file}", f"](../{page}")


def setup(app: Any) -> None:
    """Register the rewriting of links."""
    app.connect("source-read", link_inside)
    app.connect("include-read", link_included)
