"""The nomogram of the spam activity of the lecture notes shows the numbers that one gets by hand."""

from __future__ import annotations

from math import log

import pytest
import sunrise as sr


@pytest.fixture
def page(open_page):
    mail = sr.NaiveBayes.from_parameters(
        {
            "shipping": ("bernoulli", {"yes": [2 / 5, 4 / 5]}),
            "perceptron": ("bernoulli", {"yes": [1 / 10, 1 / 100]}),
        },
        classes=["not spam", "spam"],
        class_prior=[1 / 4, 3 / 4],
    )
    return open_page(mail)


def points(locator):
    return float(locator.inner_text().replace("\u2212", "-"))


@pytest.mark.parametrize(
    "shipping, perceptron, odds",
    [("yes", "yes", 3 / 5), ("yes", "no", 33 / 5), ("no", "yes", 1 / 10), ("no", "no", 11 / 10)],
)
def test_points_and_probability_by_hand(page, shipping, perceptron, odds):
    page.get_by_label("shipping", exact=True).select_option(shipping)
    page.get_by_label("perceptron", exact=True).select_option(perceptron)
    by_hand = {"yes": (log(2), log(1 / 10)), "no": (log(1 / 3), log(1.1))}
    assert points(page.get_by_label("Points of shipping")) == pytest.approx(by_hand[shipping][0], abs=0.0051)
    assert points(page.get_by_label("Points of perceptron")) == pytest.approx(
        by_hand[perceptron][1], abs=0.0051
    )
    prior, total = page.locator(".total .points").all()
    assert points(prior) == pytest.approx(log(3), abs=0.0051)
    assert points(total) == pytest.approx(log(odds), abs=0.0051)
    p = page.evaluate("sunrise.nomogram.result.p")
    assert p[1] / p[0] == pytest.approx(odds, rel=1e-12)
    bar = page.locator(".prob").last
    assert float(bar.locator(".value").inner_text().removesuffix(" %")) == pytest.approx(
        100 * odds / (1 + odds), abs=0.051
    )
