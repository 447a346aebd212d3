"""The gallery of docs/plots.md: its script draws every picture that the page shows, and the pictures are small."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "plots.md").read_text()
spec = importlib.util.spec_from_file_location("gallery", DOCS / "examples" / "gallery.py")
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)


def test_the_script_draws_all_pictures_of_the_page(tmp_path):
    drawn = {path.name for path in gallery.main(tmp_path)}
    assert drawn == {path.name for path in tmp_path.iterdir()}
    assert drawn == {Path(link).name for link in re.findall(r"\]\((examples/images/[^)]+)\)", PAGE)}
    for name in drawn:
        committed = DOCS / "examples" / "images" / name
        assert (tmp_path / name).stat().st_size > 2_000
        assert committed.stat().st_size < 60_000


def test_the_printed_explanation_is_the_one_on_the_page(capsys):
    code = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    exec(compile(code, "plots.md", "exec"), {})
    printed = "".join(f"    {line}\n" for line in capsys.readouterr().out.splitlines())
    assert printed in PAGE
