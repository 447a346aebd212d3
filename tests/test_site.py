"""The documentation site builds without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import sunrise

pytest.importorskip("furo", reason="the theme of the site is not installed")
pytest.importorskip("myst_parser", reason="the Markdown parser of the site is not installed")
pytestmark = pytest.mark.xdist_group("site")  # one build for all tests

ROOT = Path(__file__).resolve().parents[1]


class Page(HTMLParser):
    """The ids, the links and the loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs["id"]} if "id" in attrs else set()
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        elif tag in ("img", "script", "iframe", "link"):
            self.loaded.append(attrs.get("src") or attrs.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", folder / "doctrees"]
    done = subprocess.run(
        [*command, ROOT / "docs", folder / "html"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def test_every_page_of_the_repository_is_a_page_of_the_site(site):
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert len(sources) >= 20
    for source in sources:
        assert (site / source.with_suffix(".html")).exists()


def test_internal_links_lead_somewhere(pages):
    followed = 0
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            assert target.exists(), f"{path.name}: {link}"
            if to.fragment and target in pages:
                assert unquote(to.fragment) in pages[target].ids | {""}, f"{path.name}: {link}"
            followed += 1
    assert followed > 500


def test_a_page_loads_nothing_from_elsewhere(pages):
    for path, page in pages.items():
        assert not [file for file in page.loaded if urlsplit(file).netloc], path.name


def test_every_page_is_reached_from_the_contents(site, pages):
    contents = {
        (site / unquote(urlsplit(link).path)).resolve() for link in pages[site / "index.html"].links if link
    }
    for path in pages:
        assert path in contents or path.stem in ("index", "genindex", "search"), path


def test_the_reference_documents_every_public_name(pages):
    ids = set().union(*(page.ids for page in pages.values()))
    names = set(sunrise.__all__) - set(sunrise._SUBMODULES) - {"__version__"}
    assert not {name for name in names if f"sunrise.{name}" not in ids}
    assert {
        "sunrise.NaiveBayes.predict_proba",
        "sunrise.plots.WaterfallDisplay",
        "sunrise.mlflow.log_model",
    } <= ids


def test_the_search_finds_pages_by_their_words(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("burst", "marginalis", "spark"):
        assert re.search(rf'"{word}', index), word
