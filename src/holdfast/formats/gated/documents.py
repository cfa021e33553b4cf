"""The documents of a feature: copied from docs/ into its workspace by `start`, and back by `finalize`.

What lies in the workspace already is never overwritten, and nothing is ever removed from docs/. No link is
followed out of the project, and a link to a folder is not followed at all.

A central document that somebody has changed since the workflow began is a conflict. The digests that `start`
notes in our project record tell. Without them, because the workflow was begun without us, a document that differs
and is newer than the workflow is a conflict.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from holdfast import clock
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.files.fingerprints import digest
from holdfast.files.regular import entries, read_file
from holdfast.files.store import COMMAND_WAIT, Store
from holdfast.formats.gated.files import artefacts, key_of, workspace
from holdfast.formats.gated.model import PhaseName
from holdfast.records import ledger

CENTRAL = "docs"
# docs/<the one> is workflow/<slug>/<the other>.
FILES = (
    ("features.md", "00-feature/features.md"),
    ("requirements.md", "01-requirements/requirements.md"),
    ("architecture.md", "02-architecture/architecture.md"),
    ("user-guide.md", "05-documentation/user-docs.md"),
    ("api-reference.md", "05-documentation/api-docs.md"),
)
# A folder, with everything below it.
DIAGRAMS = ("diagrams", "02-architecture/diagrams")

_TEMPLATES = Path(__file__).with_name("templates")
_MOST_LOOKED_AT = 200
_LARGEST = 100 * 1024 * 1024
_SEEDED = "seeded"  # in the notes

# conflict: the target holds what nobody has looked at. kept: what is there stays as it is.
Kind: TypeAlias = Literal["new", "changed", "conflict", "same", "kept", "template", "passed over"]


class FileContent(NamedTuple):
    """A file as it is."""

    data: bytes
    mode: int | None = None  # None for what the umask leaves
    mtime: float = 0.0


class Copy(NamedTuple):
    """What is or would be done about one document; paths are relative to the project's root."""

    source: str
    target: str
    kind: Kind
    why: str = ""
    document: FileContent | None = None

    @property
    def line(self) -> str:
        """For people."""
        way = f"{self.source} -> {self.target}" if self.source and self.target else ""
        remark = f" ({self.why})" if self.why else ""
        return f"{self.kind}: {way or self.source or self.target}{remark}"


def read(path: Path) -> FileContent:
    """What *path* holds, or StateUnreadable."""
    data, mtime = read_file(path, _LARGEST)
    return FileContent(data, stat.S_IMODE(path.stat().st_mode), mtime)


def _write(store: Store, copies: Sequence[Copy]) -> None:
    """Write each document whole, with its mode; to be called inside the lock."""
    for copy in copies:
        if copy.document and copy.kind in {"new", "changed", "conflict", "template"}:
            store.write(store.root / copy.target, copy.document.data, copy.document.mode)


# Which documents there are.


def _find(store: Store, slug: str, *, central: bool) -> Iterator[Copy]:
    """What would be copied from docs/, or else from the workspace; "new" until somebody has compared it."""
    for name, within in (*FILES, DIAGRAMS):
        pair = (f"{CENTRAL}/{name}", f"{workspace(slug)}/{within}")
        source, target = pair if central else (pair[1], pair[0])
        path = store.root / source
        if (name, within) == DIAGRAMS and not path.is_symlink():
            for below in _below(path) if store.holds(path) and path.is_dir() else ():
                yield _copy(store, f"{source}/{below}", f"{target}/{below}")
        elif os.path.lexists(path):
            yield _copy(store, source, target)


def _below(folder: Path) -> Iterator[str]:
    """What lies below *folder* and is no folder."""
    for entry in sorted(entries(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{name}" for name in _below(Path(entry.path)))
        else:
            yield entry.name


def _copy(store: Store, source: str, target: str) -> Copy:
    objection = _objection(store, store.root / source)
    if objection:
        return Copy(source, "", "passed over", objection)
    return Copy(source, target, "new", document=read(store.root / source))


def _objection(store: Store, path: Path) -> str:
    if not store.holds(path):
        return "leads outside the project"
    if path.is_dir():
        return "is a link to a folder" if path.is_symlink() else "is not a regular file"
    # Nobody means to publish what git or we keep.
    real = Path(os.path.realpath(path))
    if ".git" in real.relative_to(store.root).parts or store.private in real.parents:
        return "does not lead to a document"
    return "" if path.is_file() else "is not a regular file"


# What `start` does.


def templates() -> dict[str, bytes]:
    """What the artefacts begin with in a project without docs/, by their paths in the workspace.

    The implementation is code and the tests are tests, so the document names no artefact for these phases.
    Their reviewers read a short report, which is not published.
    """
    files = sorted(_TEMPLATES.rglob("*.md"))
    return {
        path.relative_to(_TEMPLATES).as_posix(): path.read_text("utf-8").encode() for path in files
    }


def plan_seeds(store: Store, slug: str) -> list[Copy]:
    """What `seed` would do; nothing is written."""
    if (store.root / CENTRAL).is_dir():
        copies = [*_find(store, slug, central=True)]
    else:
        copies = [
            Copy("", f"{workspace(slug)}/{name}", "template", document=FileContent(data))
            for name, data in templates().items()
        ]
    for at, copy in enumerate(copies):
        path = store.root / copy.target
        if copy.document and path.exists():
            if copy.source and read(path).data == copy.document.data:
                copies[at] = copy._replace(kind="same")
            else:
                copies[at] = Copy(copy.source, copy.target, "kept", "it is there already")
    return copies


def seed(store: Store, slug: str) -> list[Copy]:
    """Copy what is due, and say what was done about each document."""
    copies = plan_seeds(store, slug)
    central = ((copy.source, copy.document) for copy in copies if copy.source)
    fresh = {path: digest(document.data) for path, document in central if document}
    ledger.update_notes(store, key_of(slug), COMMAND_WAIT, lambda notes: {**notes, _SEEDED: fresh})
    with store.lock(COMMAND_WAIT):
        _write(store, copies)
    return copies


def noted_digests(store: Store, slug: str) -> Mapping[str, str] | None:
    """The digests of the central documents when the workflow began; None if nobody noted any."""
    noted = ledger.notes_of(store, key_of(slug)).get(_SEEDED)
    return noted if isinstance(noted, dict) else None


def refuse_unwritten(store: Store, feature: Path, phase: PhaseName) -> None:
    """Refuse where the artefact of *phase* is missing, or still the template; code is no file of its folder."""
    untouched, found = templates(), [*islice(artefacts(store, feature / phase), _MOST_LOOKED_AT)]
    names = {path: path.relative_to(feature).as_posix() for path in found}
    if any(read(path).data != untouched.get(name) for path, name in names.items()):
        return
    named = [within for _, within in FILES if within.startswith(phase)]
    if named or found:
        name, *_ = (*names.values(), *named)
        raise IllegalMove(
            f"{workspace(feature.name)}/{name} is {'still the template' if found else 'missing'}",
            hint="A phase is submitted once its artefact is written.",
        )


# What `finalize` does.


def plan_publishing(store: Store, slug: str, begun: datetime | None) -> list[Copy]:
    """What publishing a workflow *begun* then would do; nothing is written."""
    digests = noted_digests(store, slug)
    untouched = {f"{workspace(slug)}/{name}": data for name, data in templates().items()}
    copies = []
    for copy in _find(store, slug, central=False):
        if copy.document and copy.document.data == untouched.get(copy.source):
            copies.append(Copy(copy.source, copy.target, "passed over", "still the template"))
        elif copy.document:
            kind, why = _compare(store, copy.target, copy.document, digests, begun)
            copies.append(copy._replace(kind=kind, why=why))
        else:
            copies.append(copy)
    return copies


def _compare(
    store: Store,
    path: str,
    document: FileContent,
    digests: Mapping[str, str] | None,
    begun: datetime | None,
) -> tuple[Kind, str]:
    """What publishing *document* to *path* would be, and why that is a conflict."""
    target, noted = store.root / path, (digests or {}).get(path)
    if not store.holds(target.parent):
        raise IllegalMove(
            f"{path} leads outside the project",
            hint=f"Make {os.path.dirname(path)} a folder of the project.",
        )
    if target.is_symlink():
        return "conflict", "it is a link, and would be replaced"
    if not target.exists():
        return ("conflict", "it was removed since the workflow began") if noted else ("new", "")
    try:
        there = read(target)
    except HoldfastError as error:
        raise IllegalMove(
            f"{path} cannot be replaced: {error.cause}", hint="Move it away first."
        ) from error
    if (there.data, there.mode) == (document.data, document.mode):
        return "same", ""
    if digests is None and (begun is None or clock.from_mtime(there.mtime) > begun):
        return "conflict", "it is newer than the workflow"
    if digests is not None and digest(there.data) != noted and there.data != document.data:
        came = "changed" if noted else "added"
        return "conflict", f"it was {came} since the workflow began"
    return "changed", ""


def refuse_conflicts(copies: Sequence[Copy]) -> None:
    conflicts = [f"{copy.target}: {copy.why}" for copy in copies if copy.kind == "conflict"]
    if conflicts:
        raise IllegalMove(
            "; ".join(conflicts),
            hint="Bring what is new there into the workspace's file, and make both the same; or "
            "publish all the same with --force, which keeps what it replaces in "
            ".claude/holdfast/archive.",
        )


def publish(store: Store, copies: Sequence[Copy], at: str) -> list[str]:
    """Publish, conflicts included, inside the lock; returns where what was replaced is kept."""
    lines = []
    for target in (copy.target for copy in copies if copy.kind == "conflict"):
        path = store.root / target
        if path.is_symlink():
            lines.append(f"replaced {target}, which was a link to {os.readlink(path)}")
        elif path.exists():
            kept = store.archive(target.replace("/", "-"), at, read(path).data)
            lines.append(f"replaced {target}; what was there is in {store.relative(kept)}")
    _write(store, copies)
    return lines
