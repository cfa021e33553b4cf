"""The formats that there are, each loaded when it is needed: its models cost a hook milliseconds."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from holdfast.formats import signs
from holdfast.formats.engine.format import AnyFormat
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import ledger

GENERAL = "canonical"  # the format that the general commands such as `holdfast phase` work on


@cache
def named(name: str) -> AnyFormat:
    """The format in the package *name* beside this module; its module `format` has it as FORMAT."""
    found: AnyFormat = import_module(f"holdfast.formats.{name}.format").FORMAT
    return found


def every() -> tuple[AnyFormat, ...]:
    """All of them."""
    return tuple(map(named, signs.SIGNS))


def at(place: Place) -> tuple[AnyFormat, ...]:
    """Those that may have a workflow at *place*, or had one that we have a copy of or this session worked on."""
    there = signs.formats_in(str(place.root), place.settings.plans, place.store.inputs)
    if place.planned or ledger.load(place.store).followed:  # plans that may lie anywhere
        there.add(GENERAL)
    there |= {key.partition(":")[0] for key in place.own}
    return tuple(
        named(name)
        for name, paths in signs.SIGNS.items()
        if name in there or place.store.has_copies_in(paths)
    )


def format_of(workflow: Workflow) -> AnyFormat:
    """The one that *workflow* is kept in."""
    return named(workflow.format)
