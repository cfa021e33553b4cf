"""The formats that there are, each loaded when it is needed: its models cost a hook milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from holdfast.formats import signs
from holdfast.formats.base import Format, Place, Workflow


def _canonical() -> Format:
    from holdfast.formats.canonical.format import Canonical  # noqa: PLC0415

    return Canonical()


def _skill() -> Format:
    from holdfast.formats.skill.format import Skill  # noqa: PLC0415

    return Skill()


def _gated() -> Format:
    from holdfast.formats.gated.format import Gated  # noqa: PLC0415

    return Gated()


def _orchestrator() -> Format:
    from holdfast.formats.orchestrator.format import Orchestrator  # noqa: PLC0415

    return Orchestrator()


def _pipeline() -> Format:
    from holdfast.formats.pipeline.format import Pipeline  # noqa: PLC0415

    return Pipeline()


_LOADERS: Mapping[str, Callable[[], Format]] = {
    "canonical": _canonical,
    "skill": _skill,
    "gated": _gated,
    "orchestrator": _orchestrator,
    "pipeline": _pipeline,
}


@cache
def named(name: str) -> Format:
    return _LOADERS[name]()


def every() -> tuple[Format, ...]:
    """All of them."""
    return tuple(map(named, _LOADERS))


def at(place: Place) -> tuple[Format, ...]:
    """Those that may have a workflow at *place*, or had one that we have a copy of."""
    there = signs.formats_in(str(place.root), place.settings.plans)
    missing = [name for name in _LOADERS if name not in there]
    copied = place.store.has_copies_in([path for name in missing for path in signs.SIGNS[name]])
    there |= {name for name in missing if copied & {*signs.SIGNS[name]}}
    return tuple(named(name) for name in _LOADERS if name in there)


def format_of(workflow: Workflow) -> Format:
    """The one that *workflow* is kept in."""
    return named(workflow.format)
