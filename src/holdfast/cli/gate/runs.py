"""Commands for whole features: begun."""

from __future__ import annotations

import click

from holdfast.cli.app import App, pass_app
from holdfast.cli.gate.given import file_option, text_of
from holdfast.cli.gate.group import details, gate, tell_now, writing
from holdfast.formats.gated import lifecycle


@gate.command()
@click.argument("slug")
@click.option("--title", required=True, help="Of the feature, for people.")
@click.option("--description", metavar="TEXT", help="What is to be built; - for stdin.")
@file_option
@pass_app
def start(app: App, slug: str, title: str, description: str | None, file: str | None) -> None:
    """Begin the feature SLUG in its first phase: the description, the state and five status.json."""
    if description is None and file is None:
        description = title
    text = text_of(description, file, "the description")
    synced = writing(app, stay=False)
    changed = lifecycle.start(
        synced.place,
        slug,
        title=title,
        description=f"# {title}\n\n{text}\n",
        branch=synced.place.branch,
    )
    path = synced.place.store.relative(changed.run.folder)
    tell_now(synced, changed.run.key, "started", f"kept in {path}/", *details(changed))
