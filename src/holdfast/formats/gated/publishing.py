"""What `finalize` copies back to docs/: decided first, and done after that.

A central document that somebody has changed since the workflow began is a conflict. That is told by
the digest that `start` noted. Where nobody noted any, because the workflow was begun without us, a
document that differs and is newer than the workflow is one. Nothing is ever removed from docs/.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from holdfast import clock
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.formats.gated import copying, mapping, templates
from holdfast.formats.gated.copying import Copy, Document
from holdfast.store import Store


class Begun(NamedTuple):
    """What is known of the central documents when the workflow began."""

    digests: Mapping[str, str] | None  # None where nobody noted any
    at: datetime | None


class Central(NamedTuple):
    """What lies where a document is to be published."""

    document: Document | None  # None where nothing does
    objection: str = ""  # why it is not simply to be replaced, whatever it holds


def plan(store: Store, slug: str, begun: Begun) -> list[Copy]:
    """What `finalize` would do; nothing is written."""
    found = mapping.in_the_workspace(store, slug)
    copies = []
    for central, source in found.pairs:
        document = copying.read(store.root / source)
        kind, why = judge(central, document, _central(store, central), begun)
        if document.data == _template(slug, source):
            kind, why = "passed over", "still the template"
        copies.append(Copy(source, central, kind, why))
    return copies + [Copy(path, "", "passed over", why) for path, why in found.passed_over]


def _template(slug: str, source: str) -> bytes | None:
    name = source.removeprefix(f"{mapping.workspace(slug)}/")
    return templates.ARTEFACTS[name].encode() if name in templates.ARTEFACTS else None


def _central(store: Store, path: str) -> Central:
    place = store.root / path
    if not store.holds(place.parent):
        raise IllegalMove(
            f"{path} leads outside the project",
            hint=f"Make {os.path.dirname(path)} a folder of the project.",
        )
    if place.is_symlink():
        return Central(None, "it is a link, and would be replaced")
    if not place.exists():
        return Central(None)
    try:
        return Central(copying.read(place))
    except HoldfastError as error:
        raise IllegalMove(
            f"{path} cannot be replaced: {error.cause}", hint="Move it away first."
        ) from error


def judge(
    path: str, document: Document, central: Central, begun: Begun
) -> tuple[copying.Kind, str]:
    """What publishing *document* to *path* would be, and why that is a conflict."""
    there = central.document
    if central.objection:
        return "conflict", central.objection
    noted = (begun.digests or {}).get(path)
    if there is None:
        gone = noted is not None
        return ("conflict", "it was removed since the workflow began") if gone else ("new", "")
    if (there.data, there.mode) == (document.data, document.mode):
        return "same", ""
    if begun.digests is None:
        if begun.at is not None and clock.from_mtime(there.mtime) <= begun.at:
            return "changed", ""
        return "conflict", "it is newer than the workflow"
    if noted is None:
        return "conflict", "it has come since the workflow began"
    if noted != there.digest and there.data != document.data:
        return "conflict", "it was changed since the workflow began"
    return "changed", ""


def refuse_conflicts(copies: Sequence[Copy]) -> None:
    conflicts = [f"{each.target}: {each.why}" for each in copies if each.kind == "conflict"]
    if conflicts:
        raise IllegalMove(
            "; ".join(conflicts),
            hint="Bring what is new there into the workspace's file, and make both the same; or "
            "publish all the same with --force, which keeps what it replaces in "
            ".claude/holdfast/archive.",
        )


def make(store: Store, copies: list[Copy], stamp: str) -> list[str]:
    """Publish, each document whole, what is in conflict as well; to be called inside the lock.

    Returns where what was in conflict is kept, one line each.
    """
    lines = []
    for copy in copies:
        if copy.kind not in {"new", "changed", "conflict"}:
            continue
        if copy.kind == "conflict":
            lines += _kept(store, copy.target, stamp)
        copying.write(store, copy.target, copying.read(store.root / copy.source))
    return lines


def _kept(store: Store, target: str, stamp: str) -> list[str]:
    """Keep what lies at *target* and is about to be replaced."""
    path = store.root / target
    if path.is_symlink():
        return [f"replaced {target}, which was a link to {os.readlink(path)}"]
    if not path.exists():
        return []
    kept = store.archive(target.replace("/", "-"), stamp, copying.read(path).data)
    return [f"replaced {target}; what was there is in {store.relative(kept)}"]
