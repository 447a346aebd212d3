"""Formulas as MathML, which browsers draw themselves: a page loads no script for them and needs no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from docutils.utils.math.unichar2tex import uni2tex_table


def _visit(as_block: bool) -> Any:
    def visit(self: Any, node: Any) -> None:
        tex = node.astext().translate(uni2tex_table)
        if as_block and ("\\\\" in tex or "&" in tex):
            tex = rf"\begin{{align}}{tex}\end{{align}}"
        markup = "".join(tex2mathml(tex, as_block=as_block))
        self.body.append(f'<div class="math">{markup}</div>' if as_block else markup)
        raise nodes.SkipNode

    return visit


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_visit(False), None), (_visit(True), None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
