"""The end of commands that change a model: it is saved, and its rows are told."""

from __future__ import annotations

from typing import Any


def save_changed(model: Any, path: str, as_json: bool) -> None:
    """Save a changed model, and print its classes and numbers of rows."""
    from sunrise.cli.card import plain
    from sunrise.cli.show import print_json

    model.save(path)
    rows = {
        str(plain(label)): int(n)
        for label, n in zip(model.stats_.classes.tolist(), model.stats_.rows.tolist(), strict=True)
    }
    if as_json:
        print_json({"model": path, "rows": sum(rows.values()), "classes": rows})
    else:
        print(
            f"{path}: {sum(rows.values()):,} rows (" + ", ".join(f"{c}: {n:,}" for c, n in rows.items()) + ")"
        )
