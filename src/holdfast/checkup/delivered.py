"""What reached the model after the last compaction, as the transcript of a session tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast import evidence, hooklog, transcript
from holdfast.checkup.finding import Finding
from holdfast.errors import HoldfastError, NoSuchWorkflow, StateUnreadable
from holdfast.plaintext import counted
from holdfast.sync import Synced
from holdfast.transcript import Compaction

DETAILS = "holdfast doctor --delivery"
_OTHER_TRANSCRIPT = f"Name the transcript of a session: {DETAILS} --transcript FILE"


@dataclass(frozen=True)
class Delivered:
    """The last compaction, and what became of each piece that was due after it."""

    transcript: Path
    compaction: Compaction
    pieces: list[evidence.Finding]
    nothing_due: str  # why nothing was to be restored; empty when something was

    @property
    def whole(self) -> bool:
        return all(each.became == "arrived" for each in self.pieces)


def look(synced: Synced, file: Path | None = None) -> Delivered:
    """Read the transcript *file*, else that of this session, or of the last one here."""
    path = file or _transcript(synced)
    try:
        compaction = transcript.last_compaction(path)
    except StateUnreadable as error:
        raise HoldfastError(error.cause, hint=_OTHER_TRANSCRIPT) from error
    if compaction is None:
        raise HoldfastError(f"{path} tells of no compaction")
    pieces = evidence.findings(compaction)
    nothing = _nothing_due(synced, path) if pieces[0].became == "missing" else ""
    return Delivered(path, compaction, [] if nothing else pieces, nothing)


def examine(synced: Synced) -> Iterator[Finding]:
    """The same in one line; nothing where nobody knows of a compaction."""
    try:
        found = look(synced)
    except HoldfastError as error:
        yield Finding("delivery", "note", "not known", error.cause)
        return
    when = f"after the compaction of {found.compaction.at[:19]}Z"
    wrong = [f"{each.what} {each.became}" for each in found.pieces if each.became != "arrived"]
    if wrong:
        what = f"not all reached the model {when}"
        yield Finding("delivery", "wrong", what, ", ".join(wrong), DETAILS)
    elif found.nothing_due:
        yield Finding("delivery", "good", f"nothing was due {when}: {found.nothing_due}")
    else:
        parts = counted(len(found.pieces) - 1, "part")
        yield Finding("delivery", "good", f"guidance and {parts} arrived {when}")


def _restores(synced: Synced) -> Iterator[dict[str, object]]:
    """What the log tells of the main hooks of sessions here, the last one first."""
    records = list(hooklog.read(synced.state_dir, synced.root))
    return (each for each in reversed(records) if isinstance(each.get("transcript"), str))


def _nothing_due(synced: Synced, path: Path) -> str:
    """Why nothing was to be restored at the last compaction that *path* tells of, if so."""
    for record in _restores(synced):
        if record["transcript"] == str(path) and record.get("source") == "compact":
            decided = str(record.get("decided"))
            return "" if decided.startswith(("restored", "failed")) else decided
    choice = synced.choice()
    return "" if choice.chosen else choice.why


def _transcript(synced: Synced) -> Path:
    """Where this session, or else the last one that was restored here, is written down."""
    for record in _restores(synced):
        if not synced.session or record.get("session") == synced.session:
            return Path(str(record["transcript"]))
    raise NoSuchWorkflow(
        f"no session is known for {synced.root}",
        hint=_OTHER_TRANSCRIPT,
    )
