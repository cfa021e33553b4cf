"""How a workflow is called on the command line, and what a shell completes it to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast import ledger, sync
from holdfast.clock import Clock
from holdfast.errors import HoldfastError, NoSuchWorkflow
from holdfast.formats.base import Workflow
from holdfast.plaintext import one_line
from holdfast.project import Surroundings


def find(workflows: Sequence[Workflow], name: str) -> Workflow:
    """The one workflow that *name* means.

    Its whole name, else its plan, state file or folder, else the beginning of just one name.
    """
    wanted = _folded(name)
    ways: tuple[Callable[[Workflow], bool], ...] = (
        lambda each: _folded(each.name) == wanted,
        lambda each: wanted in _handles(each),
        lambda each: _folded(each.name).startswith(wanted),
        lambda each: _folded(each.handle or "").startswith(wanted),
    )
    found = next((hit for way in ways if (hit := [each for each in workflows if way(each)])), [])
    active = [each for each in found if each.standing == "active"]
    if len(found) == 1 or len(active) == 1:
        return (active or found)[0]
    if found:
        names = ", ".join(f"{each.name!r} ({_handles(each)[0]})" for each in found)
        raise NoSuchWorkflow(
            f"{name!r} could be any of {names}", hint="What stands in brackets is a name, too."
        )
    names = ", ".join(repr(each.name) for each in workflows)
    raise NoSuchWorkflow(f"no workflow is called {name!r}", hint=f"There are: {names or 'none'}.")


def _handles(workflow: Workflow) -> list[str]:
    """What else a workflow may be called: its plan, its state file, a short name or their folders."""
    paths = [path for path in (workflow.source, workflow.briefing.state_path) if path]
    folders = [PurePosixPath(path).parent.name for path in paths]
    short = [workflow.handle] if workflow.handle else folders
    return [_folded(handle) for handle in (*paths, *short) if handle] or [workflow.key]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def name_argument(*, required: bool = False, ended: bool = False) -> _Decorator:
    """The NAME of a workflow; with *ended*, also of one that has ended."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        return _completions(begun, ended=ended)

    return click.argument("name", required=required, shell_complete=complete)


workflow_option = click.option(
    "-w",
    "--workflow",
    "name",
    metavar="NAME",
    help="Which workflow; else this session's.",
    shell_complete=lambda _, __, begun: _completions(begun, ended=False),
)


def _completions(begun: str, *, ended: bool) -> list[CompletionItem]:
    """What a shell may put in place of *begun*; nothing, and no word, where looking fails."""
    here = Surroundings.from_environment()
    try:
        synced = sync.run(here.cwd, here.session, here, Clock.from_environment(), wait=None)
        over = ledger.load(synced.place.store).finished.values() if ended else ()
    except (HoldfastError, OSError):
        return []
    called = [(each.name, [each.name, *_handles(each)[::-1]]) for each in synced.workflows]
    called += [(each.name, [each.name]) for each in over]
    items: dict[str, CompletionItem] = {}
    for name, ways in called:
        word = next((each for each in ways if _ONE_WORD.fullmatch(each)), None)
        wanted = _folded(begun)
        if word and (_folded(word).startswith(wanted) or _folded(name).startswith(wanted)):
            items[word] = CompletionItem(word, help=one_line(name, 80))
    return list(items.values())


# What no shell takes apart or gives a meaning of its own; a name with a space goes by its folder.
_ONE_WORD = re.compile(r"[\w./+-]+")
