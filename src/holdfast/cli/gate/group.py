"""The group, and what its commands share: who asks, which feature is meant, given texts, and commits."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from holdfast.cli.app import App, Decorator, say, take_up
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.files.store import LARGEST
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files, finalizing, reconciling
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.model import PhaseName
from holdfast.text.plaintext import decode, one_line
from holdfast.workflows.sync import ProjectView

_READERS = ("creator", "reviewer")
_ROLE = f"{__name__}.role"


@click.group()
@click.option(
    "--role",
    type=click.Choice(("orchestrator", *_READERS)),
    help="Who asks; creator and reviewer only read.",
)
@click.pass_context
def gate(context: click.Context, role: str | None) -> None:
    """Lead a feature through five phases with reviews, kept in workflow/<slug>/."""
    context.meta[_ROLE] = role


def writing(app: App, *, stay: bool = True) -> ProjectView:
    """The project, for a command that will write."""
    # Creators and reviewers report; the orchestrator writes.
    role = click.get_current_context().meta[_ROLE]
    if role in _READERS:
        raise IllegalMove(
            f"a {role} does not change the state",
            hint="Report the outcome to the orchestrator, who runs this command.",
        )
    return app.change_several(FORMAT, stay=stay)


def feature_meant(app: App, view: ProjectView, name: str | None, *, ended: bool = False) -> Feature:
    """The feature that is meant: also one whose state cannot be read, or else the last that *ended*."""
    try:
        slug = files.slug_of(app.meant(view, name, FORMAT.name).key)
    except NoSuchWorkflow:
        found = FORMAT.look(view.place)
        last = max(found.entries, key=lambda each: each.changed_at, default=None) if ended else None
        slugs = [*(folder.name for folder in found.lost), *([last.slug] if last else [])]
        slug = next((slug for slug in slugs if name in {None, slug}), "")
        if not slug:
            raise
    return files.read(view.place.store, files.folder_of(view.place.store, slug))


def tell_now(view: ProjectView, feature: Feature, verb: str, *details: str) -> None:
    """Take the feature up in this session, and say where it stands now."""
    take_up(view, FORMAT.workflow(view.place, feature), verb, *details)


# Texts and comments that are given to a command.


def text_given(text: str | None, file: str | None, what: str) -> str:
    """The text that was given: as an argument, in a file, or on stdin."""
    if (text is None) == (file is None):
        raise click.UsageError(f"Give {what} as text, or with --file, or - for stdin.")
    path = text if text == "-" else file
    found = decode(read_input(path)) if path is not None else text or ""
    if not found.strip():
        raise IllegalMove(f"{what} is empty", hint="Give it as text, with --file, or on stdin.")
    return found.strip()


def read_input(path: str) -> bytes:
    """The bytes of a file, or of stdin."""
    try:
        with click.open_file(path, "rb") as stream:
            raw: bytes = stream.read(LARGEST + 1)
    except OSError as error:
        raise IllegalMove(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > LARGEST:
        raise IllegalMove(f"{path} has more than {LARGEST} bytes")
    return raw


# Commits.


class Commit(NamedTuple):
    """The commit that a command ends with."""

    slug: str
    summary: str  # with {iteration}
    phase: PhaseName | None = None  # the current one before the change

    def message(self, phase: PhaseName, iteration: int = 0) -> str:
        """[workflow] 01-requirements: Define user auth requirements."""
        return f"[workflow] {phase}: {one_line(self.summary.format(iteration=iteration), 200)}"

    def make(self, place: Place, feature: Feature) -> None:
        """Make the commit of a change that led to *feature*, and say so."""
        state = reconciling.readable_state(feature)
        # A change that begins the next phase is about the one before; a regression about the earlier one.
        phase = min(self.phase or state.current_phase, state.current_phase)
        text = self.message(phase, state.phases[phase].iterations)
        say(f"  {finalizing.commit(place.root, [files.workspace(self.slug)], text)}")


def committing(summary: str) -> Decorator:
    """The options --commit and -m: the command is given the summary of its commit, or None for none."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--commit",
            is_flag=True,
            help="Commit the workflow's files, and nothing else; never pushed.",
        )
        @click.option("-m", "--message", metavar="TEXT", help="The summary of that commit.")
        @wraps(function)
        def command(*context: Any, commit: bool, message: str | None, **given: Any) -> Any:
            if message is not None and not commit:
                raise click.UsageError("-m is the summary of a commit: give --commit as well.")
            own = message.replace("{", "{{").replace("}", "}}") if message else summary
            return function(*context, commit=own if commit else None, **given)

        return command

    return decorate


def commit_to_make(
    place: Place, slug: str, summary: str | None, *other_paths: str
) -> Commit | None:
    """The commit with that *summary*, if any, that a command ends with; refused if git could not make it."""
    if summary is None:
        return None
    finalizing.refuse_uncommittable(place.root, files.workspace(slug), *other_paths)
    state = files.usable(files.read(place.store, files.folder_of(place.store, slug)).main)
    return Commit(slug, summary, state.current_phase if state else None)
