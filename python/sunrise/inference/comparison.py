"""Two classes compared for one row: the terms of their log-odds, as text, HTML and columns of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from sunrise.data.levels import escape_newlines


class Term(NamedTuple):
    """One term of the log-odds: the class prior, the calibration offset, or the evidence of a column.

    `sd` is the standard deviation of the evidence under the posterior of the parameters; NaN if they have none.
    `excludes` is "of" or "against" if the value has probability 0 in that class, which then is impossible.
    """

    name: str
    #: The cell as text; empty for a word of a text column, None for terms that are not columns.
    value: str | None
    evidence: float
    sd: float = float("nan")
    excludes: str | None = None

    @property
    def label(self) -> str:
        """Name and value on one line; a word of a text column has no value."""
        return escape_newlines(f"{self.name} = {self.value}" if self.value else self.name)


@dataclass(frozen=True)
class Comparison:
    """The log-odds of the class `of` against the class `against` for one row, and the terms that they are the sum of.

    `log_odds` is infinite if a value excludes one of the classes. `sd` is the standard deviation of the log-odds;
    `probability` is P(of) among all classes. Terms of columns are sorted, the strongest evidence first.
    """

    of: Any
    against: Any
    log_odds: float
    sd: float
    probability: float
    terms: tuple[Term, ...]

    def shown(self, top: int | None) -> list[Term]:
        """Return the prior, the offset, `top` columns, and the sum of the other columns as one term."""
        if top is not None and top < 0:
            raise ValueError(f"top is {top}; it must be 0 or more, or None for all columns.")
        fixed = [term for term in self.terms if term.value is None]
        columns = [term for term in self.terms if term.value is not None]
        rest = [] if top is None else columns[top:]
        if not rest:
            return [*fixed, *columns]
        known = [term.sd**2 for term in rest if term.sd == term.sd]
        noun = "term" if any(term.value == "" for term in rest) else "column"
        name = f"{len(rest)} other {noun}{'s' if rest[1:] else ''}"
        sd = sum(known) ** 0.5 if known else float("nan")
        return [*fixed, *columns[:top], Term(name, None, sum(term.evidence for term in rest), sd)]

    @property
    def title(self) -> str:
        """The classes and their log-odds on one line."""
        return f"{self.of} rather than {self.against}: log-odds {self.log_odds:+.2f}"

    def text(self, top: int | None = 8, sd: bool = False) -> str:
        """Return one line for each term; with `sd`, its standard deviation after ±."""
        lines = [self.title + (f" ± {self.sd:.2f}" if sd and self.sd == self.sd else "")]
        width = 7 if sd else 0
        for term in self.shown(top):
            spread = f" ± {term.sd:.2f}" if sd and term.sd == term.sd and not term.excludes else ""
            lines.append(f"  {_amount(term)}{spread:{width}}  {term.label}")
        return "\n".join(lines)

    def html(self, top: int | None = 12) -> str:
        """Return a table with one bar for each term; blue bars speak for the class, orange ones against it."""
        terms = self.shown(top)
        widest = max((abs(term.evidence) for term in terms), default=0.0) or 1.0
        body = "".join(_html_row(term, widest) for term in terms)
        spread = f" ± {self.sd:.2f}" if self.sd == self.sd else ""
        return (
            f"<div class=sunrise-why>{_STYLE}<table><caption><b>{escape(str(self.of))}</b> rather than "
            f"<b>{escape(str(self.against))}</b>: log-odds {self.log_odds:+.2f}{spread}, "
            f"P({escape(str(self.of))}) = {probability_text(self.probability)}</caption>"
            "<thead><tr><th scope=col>term</th><th scope=col>value</th><th scope=col class=n>evidence</th>"
            "<th scope=col class=n>sd</th><th scope=col><span class=b>against | for</span></th></tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a frame: term, value, evidence, sd. Evidence is infinite where a class is excluded."""
        infinite = {"of": float("-inf"), "against": float("inf"), None: 0.0}
        return {
            "term": [term.name if term.value is not None else f"({term.name})" for term in self.terms],
            "value": [term.value for term in self.terms],
            "evidence": [term.evidence + infinite[term.excludes] for term in self.terms],
            "sd": [term.sd for term in self.terms],
        }


def probability_text(p: float) -> str:
    """Return a probability with three digits, counted from 1 if it is close to 1 but not 1.

    >>> probability_text(0.98304), probability_text(1 - 2e-8), probability_text(1.0)
    ('0.983', '1 - 2e-08', '1')
    """
    return f"1 - {1.0 - p:.1g}" if 0.9995 <= p < 1.0 else f"{p:.3g}"


def _amount(term: Term) -> str:
    if term.excludes:
        return "impossible" if term.excludes == "against" else "ruled out "
    return f"{term.evidence:+7.2f}"


_STYLE = (
    "<style>.sunrise-why{font:13px sans-serif}.sunrise-why table{border-collapse:collapse}.sunrise-why caption"
    "{text-align:left;padding:.3em 0}.sunrise-why th,.sunrise-why td{padding:.15em .7em;border-bottom:1px solid "
    "#8884;text-align:left;font-weight:normal}.sunrise-why thead th{opacity:.75}.sunrise-why .n{text-align:right;"
    "font-variant-numeric:tabular-nums}.sunrise-why .b{display:block;width:16em;text-align:center}"
    ".sunrise-why svg{display:block;width:16em;height:1em}</style>"
)


def _html_row(term: Term, widest: float) -> str:
    share = 1.0 if term.excludes else min(abs(term.evidence) / widest, 1.0)
    speaks_for = term.excludes == "against" if term.excludes else term.evidence >= 0
    width, colour = 50.0 * share, "#0072b2" if speaks_for else "#d55e00"
    left = 50.0 if speaks_for else 50.0 - width
    bar = (
        "<svg viewBox='0 0 100 6' preserveAspectRatio=none aria-hidden=true>"
        f"<rect x={left:.2f} y=0.5 width={width:.2f} height=5 fill='{colour}' />"
        "<line x1=50 x2=50 y1=0 y2=6 stroke=currentColor stroke-width=0.3 /></svg>"
    )
    sd = "" if term.sd != term.sd or term.excludes else f"{term.sd:.2f}"
    value = "" if term.value is None else escape(escape_newlines(term.value))
    return (
        f"<tr><th scope=row>{escape(escape_newlines(term.name))}</th><td>{value}</td>"
        f"<td class=n>{_amount(term).strip()}</td><td class=n>{sd}</td><td>{bar}</td></tr>"
    )
