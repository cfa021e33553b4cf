"""What a new workflow begins with: the project's docs, or templates where it has none yet.

What lies in the workspace already is never overwritten. The digest of each central document is noted in
our sidecar, so that `finalize` knows which of them somebody has changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast import sidecar
from holdfast.formats.gated import copying, files, mapping, templates
from holdfast.formats.gated.copying import Copy, Document
from holdfast.store import COMMAND_WAIT, Store

_NOTED = "seeded"


class Seed(NamedTuple):
    """A copy into the workspace, and what it will hold."""

    copy: Copy
    document: Document | None = None  # None where nothing is written


def seed(store: Store, slug: str) -> list[Copy]:
    """Copy what is due, and say what was done about each document."""
    seeds = plan(store, slug)
    note(store, slug, seeds)
    with store.lock(COMMAND_WAIT):
        make(store, seeds)
    return [each.copy for each in seeds]


def plan(store: Store, slug: str) -> list[Seed]:
    """What `start` would do; nothing is written."""
    if not (store.root / mapping.CENTRAL).is_dir():
        return [_template(store, slug, name, text) for name, text in templates.ARTEFACTS.items()]
    found = mapping.in_the_center(store, slug)
    seeds = [_seed(store, *pair) for pair in found.pairs]
    return seeds + [Seed(Copy(path, "", "passed over", why)) for path, why in found.passed_over]


def _template(store: Store, slug: str, name: str, text: str) -> Seed:
    target = f"{mapping.workspace(slug)}/{name}"
    if (store.root / target).exists():
        return Seed(Copy("", target, "kept", "it is there already"))
    return Seed(Copy("", target, "template"), Document(text.encode()))


def _seed(store: Store, source: str, target: str) -> Seed:
    document = copying.read(store.root / source)
    if not (store.root / target).exists():
        return Seed(Copy(source, target, "new"), document)
    if copying.read(store.root / target).data == document.data:
        return Seed(Copy(source, target, "same"), document)
    return Seed(Copy(source, target, "kept", "it is there already"))


def note(store: Store, slug: str, seeds: list[Seed]) -> None:
    """Write down what the central documents are like; to be called before anything is copied.

    What was noted of one that is kept stays: its workspace copy was made from that, by a `start` that
    was interrupted.
    """
    fresh = {copy.source: document.digest for copy, document in seeds if copy.source and document}
    kept = {copy.source for copy, _ in seeds if copy.kind == "kept"}

    def change(record: dict[str, Any]) -> dict[str, Any]:
        before = {path: each for path, each in _digests(record).items() if path in kept}
        return {**record, _NOTED: {**before, **fresh}}

    sidecar.update(store, files.key_of(slug), COMMAND_WAIT, change)


def noted(store: Store, slug: str) -> Mapping[str, str] | None:
    """The digests of the central documents when the workflow began; None where nobody noted any."""
    record = sidecar.load(store, files.key_of(slug))
    return _digests(record) if _NOTED in record else None


def _digests(record: Mapping[str, Any]) -> dict[str, str]:
    found = record.get(_NOTED)
    if not isinstance(found, dict):
        return {}
    return {path: each for path, each in found.items() if isinstance(each, str)}


def make(store: Store, seeds: list[Seed]) -> None:
    """Write what is not there; to be called inside the lock."""
    for copy, document in seeds:
        if document and copy.kind in {"new", "template"}:
            copying.write(store, copy.target, document)
