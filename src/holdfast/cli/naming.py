"""The NAME of a workflow on the command line, and what a shell completes it to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast import ledger, sync
from holdfast.clock import Clock
from holdfast.errors import HoldfastError
from holdfast.naming import folded, handles
from holdfast.plaintext import one_line
from holdfast.project import Surroundings

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
    called = [(each.name, [each.name, *handles(each)[::-1]]) for each in synced.workflows]
    called += [(each.name, [each.name]) for each in over]
    items: dict[str, CompletionItem] = {}
    for name, ways in called:
        word = next((each for each in ways if _ONE_WORD.fullmatch(each)), None)
        wanted = folded(begun)
        if word and (folded(word).startswith(wanted) or folded(name).startswith(wanted)):
            items[word] = CompletionItem(word, help=one_line(name, 80))
    return list(items.values())


# What no shell takes apart or gives a meaning of its own; a name with a space goes by its folder.
_ONE_WORD = re.compile(r"[\w./+-]+")
