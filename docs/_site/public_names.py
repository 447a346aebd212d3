"""The directive `public-names`: documents every public name of some modules, so that no list can become stale."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import sunrise
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sunrise.families.base import Family

#: Modules whose names have a page of their own; the page "others" shows the rest.
OWN_PAGES = {"estimators": ["estimators"], "families": ["families"]}
#: The classes whose inherited methods are documented in full; the others refer to them.
COMPLETE = {"NaiveBayes", "TextNB"}


def modules_of(page: str) -> list[str]:
    """Return the modules below `sunrise` whose names a page documents."""
    elsewhere = {module for modules in OWN_PAGES.values() for module in modules}
    return OWN_PAGES.get(page) or [module for module in sunrise._PUBLIC if module not in elsewhere]


def entry(name: str) -> list[str]:
    """Return the lines of reStructuredText that document one public name."""
    value = getattr(sunrise, name)
    if not inspect.isclass(value):
        return [
            f".. autofunction:: sunrise.{name}" if callable(value) else f".. autodata:: sunrise.{name}",
            "",
        ]
    lines = [f".. autoclass:: sunrise.{name}"]
    if not issubclass(value, Family | Warning):  # a family is its settings; its methods are for the package
        lines += ["   :members:"]
    if name in COMPLETE:
        lines += ["   :inherited-members: BaseEstimator, ClassifierMixin"]
    return [*lines, ""]


class PublicNames(SphinxDirective):
    """`.. public-names:: estimators` documents every public name of `sunrise.estimators` as `sunrise.NAME`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse one autodoc directive for each name."""
        modules = [import_module(f"sunrise.{module}") for module in modules_of(self.arguments[0])]
        names = [name for module in modules for name in module.__all__]
        names.sort(key=lambda name: name not in COMPLETE)  # the classes that others refer to come first
        node = nodes.section()
        node.document = self.state.document
        lines = [line for name in names for line in entry(name)]
        self.state.nested_parse(StringList(lines, "public-names"), self.content_offset, node)
        return node.children


def escape_markup(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings write |x|, *.csv and classes_ as they are; reStructuredText would read markup."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"[*|]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def head_examples(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put a heading before the example that ends a docstring: napoleon takes it for an attribute otherwise."""
    first = next((i for i, line in enumerate(lines) if line.startswith(">>>")), None)
    if (
        first is not None
        and "Examples" not in lines
        and any(line.startswith("---") for line in lines[:first])
    ):
        lines[first:first] = ["", "Examples", "--------"]


def skip_routing(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn writes for metadata routing."""
    return True if name.endswith("_request") or name == "get_metadata_routing" else None


def setup(app: Any) -> dict[str, bool]:
    """Register the directive, and adapt docstrings before napoleon reads them."""
    app.connect("autodoc-process-docstring", escape_markup, priority=300)
    app.connect("autodoc-process-docstring", head_examples, priority=400)
    app.connect("autodoc-skip-member", skip_routing)
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
