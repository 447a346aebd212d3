"""The pages of examples: their code runs and prints what they say, and their tables hold."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import naive_bayes

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = sorted(EXAMPLES.glob("*.md"))


def script(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


em, mnist, murphy = script("em"), script("mnist"), script("murphy")
#: Table 3.1: the likeliest words of X windows and of MS windows, and the bits of those that tell most.
BOOK = np.array(
    [
        [0.998, 0.628, 0.535, 0.471, 0.431],
        [0.998, 0.639, 0.540, 0.538, 0.518],
        [0.215, 0.095, 0.092, 0.078, 0.067],
    ]
)
FILES = {"em": [em.FILE], "mnist": mnist.FILES, "murphy": [murphy.FILE]}
#: Scripts that draw the pictures of other pages.
DRAWING = {"gallery", "report_picture"}


def need(find_data, name):
    """Return the folder of an example's data; a test without them is skipped."""
    folders = {find_data(file).parent for file in FILES[name]}
    return folders.pop()


def page(name):
    return (EXAMPLES / f"{name}.md").read_text()


def table(name, first):
    """The rows of a page's table whose head begins with this cell, as lists of cells."""
    text = page(name)
    lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|--")
    ]


def percent(cell):
    return float(cell.removesuffix(" %")) / 100


@pytest.fixture(scope="module")
def digits(find_data):
    return mnist.load(need(find_data, "mnist"))


@pytest.fixture(scope="module")
def models(digits):
    return mnist.fitted(*digits[:2])


@pytest.fixture(scope="module")
def documents(find_data):
    return murphy.load(need(find_data, "murphy"))


# Pages


def test_every_page_has_its_script():
    assert [path.stem for path in PAGES] == ["em", "mnist", "murphy"]
    assert set(FILES) | DRAWING == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_refers_to_is_there(path):
    text = path.read_text()
    targets = re.findall(r"\]\(([^)#:]+)[^)]*\)", text)
    assert all((path.parent / target).is_file() for target in targets), targets
    pictures = re.findall(r"!\[[^\]]+\]\((images/[^)]+\.png)\)", text)
    assert pictures and text.count("![") == len(pictures)
    for picture in pictures:
        file = path.parent / picture
        assert file.read_bytes()[:4] == b"\x89PNG" and file.stat().st_size < 150_000, picture


def test_every_picture_is_on_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for path in pages for name in re.findall(r"\((?:\S*/)?images/([^)]+)\)", path.read_text())}
    assert shown == {path.name for path in (EXAMPLES / "images").iterdir()}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in ("em", "mnist") else (), id=path.stem)
        for path in PAGES
    ],
)
def test_the_code_of_a_page_prints_what_it_says(path, find_data, capsys, monkeypatch):
    folder = need(find_data, path.stem).as_posix()
    monkeypatch.chdir(ROOT)
    space: dict[str, object] = {}
    for block, said in re.findall(
        r"```python\n(.*?)```\n\n((?:    [^\n]+\n)*)", path.read_text(), flags=re.DOTALL
    ):
        exec(compile(block.replace("../shared/data", folder), str(path), "exec"), space)
        assert "".join(f"    {line}\n" for line in capsys.readouterr().out.splitlines()) == said


# Numbers


@pytest.mark.slow
def test_the_models_of_digits_are_scikit_learns(digits, models):
    X, y, X_test, y_test = digits
    peers = {
        "Bernoulli": naive_bayes.BernoulliNB(binarize=127),
        "Gaussian": naive_bayes.GaussianNB(),
        "Gaussian, smoothed": naive_bayes.GaussianNB(var_smoothing=0.1),
    }
    first = table("mnist", "missing pixels")[1][1:]
    for name, said in zip(models, first[:3], strict=True):
        truth = peers[name].fit(X, y).score(X_test, y_test)
        assert percent(said) == pytest.approx(truth, abs=0.0006)
    assert first[3] == first[0]


@pytest.mark.slow
def test_the_table_of_smoothing(digits):
    X, y = digits[:2]
    head, row = table("mnist", "`var_smoothing`")
    scores = mnist.smoothing(X, y)
    assert [float(cell) for cell in head[1:]] == list(scores)
    np.testing.assert_allclose([percent(cell) for cell in row[1:]], list(scores.values()), atol=0.0006)
    assert max(scores, key=scores.get) == 0.1  # what the page goes on with


@pytest.mark.slow
def test_the_table_of_missing_pixels(digits, models):
    X_test, y_test = digits[2:]
    head, *rows = table("mnist", "missing pixels")
    assert head[1:4] == list(models) and [percent(row[0]) for row in rows] == mnist.SHARES
    for row, share in zip(rows, mnist.SHARES, strict=True):
        masks = 3 if share in (0.5, 0.9) else 1  # the others by the first of three choices, to save time
        fresh = mnist.with_missing(models, X_test, y_test, share, masks)
        said = [percent(cell) for cell in row[1:]]
        np.testing.assert_allclose(said, fresh, atol=0.0006 if masks == 3 else 0.01, err_msg=f"{share}")


@pytest.mark.slow
def test_missing_pixels_are_left_out_of_the_sum(digits, models):
    X_test, y_test = digits[2:]
    seen = mnist.hide(X_test, 0.9)
    p = np.exp(models["Bernoulli"].feature_log_prob_)
    ink, white = seen > 127, seen <= 127  # of a missing pixel neither
    joint = ink @ np.log(p.T) + white @ np.log1p(-p.T) + np.log(np.bincount(digits[1]) / len(digits[1]))
    truth = (joint.argmax(axis=1) == y_test).mean()
    assert mnist.with_missing(models, X_test, y_test, 0.9, masks=1)[0] == pytest.approx(truth, abs=2e-4)
    blank = models["Bernoulli"].predict(np.nan_to_num(seen))
    assert (blank == 1).mean() > 0.5  # "takes most digits for a 1"


def test_the_table_of_words_is_that_of_the_book(documents):
    X, y, words = documents["X_train"], documents["y_train"], documents["vocabulary"].tolist()
    theta = np.array([(X[y == c].sum(axis=0) + 1) / ((y == c).sum() + 2) for c in (1, 2)])
    joint = np.stack([theta, 1 - theta]) / 2  # equal priors
    bits = (joint * np.log2(joint / (joint.sum(axis=1, keepdims=True) / 2))).sum(axis=(0, 1))
    rows = np.array(table("murphy", "X windows")[1:])
    for numbers, (named, printed) in zip([*theta, bits], rows.T.reshape(3, 2, 5), strict=True):
        best = np.argsort(-numbers)[:5]
        assert named.tolist() == [words[j] for j in best]
        assert printed.tolist() == [f"{numbers[j]:.3f}" for j in best]
    assert (rows[:, 1::2].T.astype(float) == BOOK).all()
    assert words.index("subject") + 1 == 107


def test_the_table_of_words_kept(documents):
    head, *rows = table("murphy", "words kept")
    whole = murphy.fitted(documents)
    bits = whole.mutual_information()
    for k, *said in zip(head[1:], *(row[1:] for row in rows), strict=True):
        kept = np.sort(np.argsort(-bits, kind="stable")[: int(k)])
        X, X_test = documents["X_train"][:, kept], documents["X_test"][:, kept]
        peer = naive_bayes.BernoulliNB().fit(X, documents["y_train"])
        truth = peer.score(X, documents["y_train"]), peer.score(X_test, documents["y_test"])
        assert said == [f"{100 * score:.1f} %" for score in truth]


@pytest.mark.slow
def test_the_table_of_labelled_articles(find_data):
    data = em.load(need(find_data, "em"))
    head, *rows = table("em", "labelled articles")
    assert [int(cell.replace(",", "")) for cell in head[1:]] == em.SIZES
    for n in (20, 100):  # the others to save time
        said = [percent(row[1 + em.SIZES.index(n)]) for row in rows]
        np.testing.assert_allclose(said, em.curve(data, [n])[n], atol=0.0006)
    alone, with_others = ([percent(cell) for cell in row[1:]] for row in rows)
    assert (np.array(with_others) > np.array(alone) + 0.03).all()


# Scripts


@pytest.mark.slow
def test_the_pictures_can_be_drawn(digits, models, documents, tmp_path):
    pytest.importorskip("matplotlib")
    X, y, X_test, y_test = digits
    rows = np.linspace([0.84, 0.56, 0.81, 0.84], [0.69, 0.44, 0.67, 0.16], 10)
    mnist.draw_parameters(models, tmp_path / "mnist-parameters.png")
    mnist.draw_samples(models, X, y, tmp_path / "mnist-samples.png")
    mnist.draw_missing(rows, X_test, tmp_path / "mnist-missing.png")
    k = mnist.MISTAKEN
    mnist.draw_explanation(models["Bernoulli"], X_test[k], int(y_test[k]), tmp_path / "mnist-explain.png")
    whole = murphy.fitted(documents)
    murphy.draw_densities(whole, documents["vocabulary"], tmp_path / "murphy-densities.png")
    murphy.draw_selection(murphy.selected(whole, documents), tmp_path / "murphy-selection.png")
    em.draw_curve(dict.fromkeys(em.SIZES, (0.1, 0.2)), tmp_path / "em-curve.png")
    committed = {p.name for p in (EXAMPLES / "images").iterdir()}
    own = {name for name in committed if name.startswith(("em-", "mnist-", "murphy-"))}
    assert {p.name for p in tmp_path.iterdir()} == own


@pytest.mark.parametrize("name", FILES)
def test_without_data_a_script_says_what_it_wants(name, tmp_path):
    with pytest.raises(SystemExit) as said:
        {"em": em, "mnist": mnist, "murphy": murphy}[name].main(tmp_path)
    assert str(tmp_path) in str(said.value) and all(file in str(said.value) for file in FILES[name])
