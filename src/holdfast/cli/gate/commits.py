"""The option --commit of the commands that write: what is committed, and in which words.

A command that takes it says so with `commits`; whoever makes its change asks `wanted` before, so that
what git would refuse stops the command before anything is changed, and commits after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from holdfast.cli.app import say
from holdfast.errors import GitRefused, IllegalMove
from holdfast.formats.base import Place
from holdfast.formats.gated import committing, files, mapping, reconcile
from holdfast.formats.gated.files import HeldState, Run
from holdfast.formats.gated.model import PHASES, PhaseName

_COMMIT = f"{__name__}.commit"
_SUMMARY = f"{__name__}.summary"
_WORDS = f"{__name__}.words"

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Commit(NamedTuple):
    """A commit that somebody wants."""

    slug: str
    words: str  # what is done, where they do not say it; with {iteration}
    summary: str | None  # as they say it
    phase: PhaseName | None = None  # the current one before the change

    def message(self, phase: PhaseName, iteration: int = 0) -> str:
        return committing.message(phase, self.summary or self.words.format(iteration=iteration))


def commits(words: str) -> _Decorator:
    """Let a command take --commit; *words* is its summary unless another is given with -m."""

    def note(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
        def keep(context: click.Context, _: click.Parameter, value: Any) -> Any:
            context.meta[key] = value
            context.meta[_WORDS] = words
            return value

        return keep

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        summary = click.option(
            *("-m", "--message", "summary"),
            metavar="TEXT",
            expose_value=False,
            callback=note(_SUMMARY),
            help="The summary of that commit.",
        )
        commit = click.option(
            "--commit",
            is_flag=True,
            expose_value=False,
            callback=note(_COMMIT),
            help="Commit the workflow's files, and nothing else; never pushed.",
        )
        return commit(summary(command))

    return decorate


def is_wanted() -> bool:
    return bool(click.get_current_context().meta.get(_COMMIT))


def wanted(place: Place, slug: str, other_paths: tuple[str, ...] = ()) -> Commit | None:
    """The commit that this command is to end with; refused where git could not make it."""
    meta = click.get_current_context().meta
    summary = meta.get(_SUMMARY)
    if not is_wanted():
        if summary is not None:
            raise click.UsageError("-m is the summary of a commit: give --commit as well.")
        return None
    committing.refuse_uncommittable(place.root, mapping.workspace(slug), *other_paths)
    run = files.read(place.store, files.folder_there(place.store, slug))
    phase = run.main.state.current_phase if isinstance(run.main, HeldState) else None
    return Commit(slug, meta[_WORDS], summary, phase)


def make(place: Place, commit: Commit | None, run: Run) -> None:
    """Make the commit of a change that led to *run*, and say so."""
    if commit is None:
        return
    state = reconcile.readable_state(run)
    # A change that begins the next phase is about the one before; a regression about the earlier one.
    phase = min(commit.phase or state.current_phase, state.current_phase, key=PHASES.index)
    text = commit.message(phase, state.phases[phase].iterations)
    try:
        line = committing.commit(place.root, [mapping.workspace(commit.slug)], text)
    except GitRefused as error:
        raise IllegalMove(
            error.cause, hint="The workflow has changed; only the commit is missing."
        ) from error
    say(f"  {line}")
