"""What an agent can do and can be told: all that handlers, and the layers below them, know of it. Light."""

from __future__ import annotations

from holdfast.text.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Transcript:
    """How a transcript tells of compactions, where no event follows them."""

    marker: bytes  # every line that reports a compaction contains it
    # True: PreCompact fires when a compaction begins, and the transcript reports its end some time later.
    # False: PreCompact fires before every request, and the transcript has everything that came before it.
    announced: bool
    # The bytes before and after the list in a record whose first elements say enough.
    list_in: tuple[bytes, bytes] | None = None

    def compactions(self, record: object) -> list[str]:
        """The ids of the compactions that *record*, one line of the transcript, reports."""
        raise NotImplementedError

    def at(self, record: object) -> str:  # noqa: ARG002
        """The time of what *record* reports; empty if it has none."""
        return ""

    def goes_on(self, record: object) -> bool | None:  # noqa: ARG002
        """True if *record* begins a compaction, False if it ends one, None if it does neither."""
        return None


class Capabilities:
    """What an agent can be told, when, and how much at once; and what it reports. The defaults hold for most."""

    # No NamedTuple: `typing` takes longer to load than a hook may run.
    def __init__(self, **known: Any) -> None:
        vars(self).update(known)

    room: Room  # of one context
    parts: bool = False  # required reading comes by hooks of its own, a context each
    # Runs hooks beside the conversation; else bookkeeping follows an answer.
    beside: bool = False
    # None where a session starts again after a compaction, and can be told then. Else it is told
    # with the next prompt, if there was a compaction before.
    transcript: Transcript | None = None
    starts_twice: bool = False  # once as resumed and once as compacted, in one turn
    keeps_starts: bool = True  # a context given at a start stays, and does no harm
    shows: bool = True  # a line for the person is shown
    tells_failures: bool = False  # a tool call that failed has an event of its own

    @property
    def notes_begun(self) -> bool:
        """Whether it is noted that a compaction has begun, since something that comes later depends on it."""
        return self.starts_twice or (self.transcript is not None and self.transcript.announced)

    @property
    def prompted(self) -> bool:
        """Whether something is told with a prompt."""
        return self.transcript is not None or not self.keeps_starts


SENT_AT = frozenset({"compact", "resume", "fork"})  # sources of a start at which parts are sent
# Of Claude Code, for which the hooks are made.
USUAL = Capabilities(room=Room(9_500), parts=True, beside=True, tells_failures=True)
