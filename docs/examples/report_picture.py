"""Draw images/report-nomogram.png and images/report-mail.png: parts of live pages, in Chromium.

Needs `pip install playwright` and a Chromium; run it again when the page changes.
"""

import shutil
import tempfile
from pathlib import Path

import sunrise as sr
from playwright.sync_api import sync_playwright
from sunrise.datasets import load_heart_disease

heart = load_heart_disease("pandas").frame
patient = {"thallium": "reversible defect", "chest_pain": "asymptomatic", "max_heart_rate": 165, "age": 61}
mail = sr.NaiveBayes.from_parameters(
    {
        "shipping": ("bernoulli", {"yes": [2 / 5, 4 / 5]}),
        "perceptron": ("bernoulli", {"yes": [1 / 10, 1 / 100]}),
    },
    classes=["not spam", "spam"],
    class_prior=[1 / 4, 3 / 4],
)
PAGES = {
    "report-nomogram": (sr.NaiveBayes().fit(heart, "disease"), patient),
    "report-mail": (mail, {"shipping": 1, "perceptron": 1}),
}

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    for name, (model, values) in PAGES.items():
        page_file = Path(tempfile.mkdtemp()) / f"{name}.html"
        model.report(page_file)
        page = browser.new_page(viewport={"width": 960, "height": 900})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.evaluate(
            "values => values.forEach(([name, value]) => sunrise.set(name, value))", list(values.items())
        )
        page.add_style_tag(content="#try { padding: 0 12px }")
        page.locator("#try").screenshot(path=Path(__file__).parent / "images" / f"{name}.png")
    browser.close()
