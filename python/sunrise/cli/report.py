"""`sunrise report`: one HTML page about a model."""

from __future__ import annotations

import os

import click

from sunrise.cli.options import json_option, model_argument


@click.command()
@model_argument
@click.option("-o", "--output", type=click.Path(), help="The page. Default: beside MODEL, with .html.")
@click.option("--title", help="The heading of the page. Default: the name of the model file.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@json_option
def command(model: str, output: str | None, title: str | None, opens: bool, as_json: bool) -> None:
    """Write one HTML page about a model: quality, columns, and a nomogram in which values can be set.

    The page needs no network and no other file: send it to a colleague.

    \b
      sunrise report titanic.sunrise --open
    """
    from sunrise.cli.models import load_model
    from sunrise.cli.show import print_json

    stem = model.removesuffix(".sunrise")
    page = f"{stem}.html" if output is None else output
    load_model(model).report(page, title=os.path.basename(stem) if title is None else title)
    if as_json:
        print_json({"model": model, "page": page, "bytes": os.path.getsize(page)})
    else:
        print(f"{page}: {os.path.getsize(page):,} bytes, open it in any browser")
    if opens:
        click.launch(page)
