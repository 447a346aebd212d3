"""Draw images/report-nomogram.png, the picture of the README: a part of the live page of a model, in Chromium.

Needs `pip install playwright` and a Chromium; run it again when the page changes.
"""

import shutil
import tempfile
from pathlib import Path

import sunrise as sr
from playwright.sync_api import sync_playwright
from sunrise.datasets import load_heart_disease

heart = load_heart_disease("pandas").frame
page_file = Path(tempfile.mkdtemp()) / "heart.html"
sr.NaiveBayes().fit(heart, "disease").report(page_file, title="Heart disease")
columns = [name for name in heart.columns if name != "disease"]
patient = {
    "thallium": "reversible defect",
    "chest_pain": "asymptomatic",
    "max_heart_rate": "165",
    "age": "61",
}

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    page = browser.new_page(viewport={"width": 960, "height": 900})
    page.goto(page_file.as_uri())
    for name, value in patient.items():
        field = page.locator(f"#v{columns.index(name)}")
        is_list = field.evaluate("field => field.tagName") == "SELECT"
        field.select_option(label=value) if is_list else field.fill(value)
    page.add_style_tag(content="#try { padding: 0 12px }")
    page.evaluate("document.activeElement.blur()")
    page.locator("#try").screenshot(path=Path(__file__).parent / "images" / "report-nomogram.png")
    browser.close()
