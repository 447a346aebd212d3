"""A browser for the pages: Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that writes the page of a model and opens it.

    After the test, the page must have asked for no other file and reported no error.
    """
    problems, contexts = [], []

    def open_(model, *, ready="yes", title=None, **options):
        path = tmp_path / "model.html"
        model.report(path, title=title)
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        address = path.as_uri()
        page.on(
            "console", lambda line: problems.append(line.text) if line.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda r: problems.append(r.url) if r.url.split("#")[0] != address else None)
        page.goto(address)
        page.wait_for_selector(f"html[data-ready={ready}]", timeout=120_000)
        return page

    # Chromium must not look for proxies of the machine.
    os.environ.setdefault("NO_PROXY", "*")
    yield open_
    for context in contexts:
        context.close()
    assert problems == []
