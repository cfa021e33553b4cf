"""What whoever asks a hook can take: all that handlers, and what lies below them, know of an agent. Light."""

from __future__ import annotations

from holdfast.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Transcript(Protocol):
        """How a transcript tells of compactions, where no event follows them."""

        marker: bytes  # what a line holds that may tell of one
        # PreCompact comes where one begins, and how it ended is told some time later. Else PreCompact
        # comes before every request, and what happened before it is told already.
        announced: bool

        @property
        def list_in(self) -> tuple[bytes, bytes] | None:
            """What stands before and behind the list of a record that tells all with its first elements."""

        def compactions(self, record: object) -> list[str]:
            """What those are known by that *record*, a line of it, tells of."""

        def at(self, record: object) -> str:
            """When that was which *record* tells; empty where it does not say so."""

        def goes_on(self, record: object) -> bool | None:
            """Whether one has begun with *record*, or has ended; None where it says neither."""


class Capabilities:
    """What can be said, when, and how much at once; and what an agent tells. The defaults hold for most."""

    __slots__ = (
        *("keeps_starts", "parts", "room", "shows", "starts_twice", "tells_failures"),
        "transcript",
    )

    def __init__(
        self,
        *,
        room: Room,
        parts: bool = False,
        transcript: Transcript | None = None,
        starts_twice: bool = False,
        keeps_starts: bool = True,
        shows: bool = True,
        tells_failures: bool = False,
    ) -> None:
        self.room = room  # of one context
        self.parts = parts  # required reading comes by hooks of its own, a context each
        # None where a session starts again after a compaction, and can be told then. Else it is told
        # with the next prompt, if there was a compaction before.
        self.transcript = transcript
        self.starts_twice = starts_twice  # once as resumed and once as compacted, in one turn
        self.keeps_starts = (
            keeps_starts  # a context that is given at a start stays, and does no harm
        )
        self.shows = shows  # a line for the person is shown
        self.tells_failures = tells_failures  # a tool call that failed has an event of its own

    @property
    def notes_begun(self) -> bool:
        """Whether it is noted that a compaction has begun, since something that comes later depends on it."""
        return self.starts_twice or (self.transcript is not None and self.transcript.announced)

    @property
    def prompted(self) -> bool:
        """Whether something is told with a prompt."""
        return self.transcript is not None or not self.keeps_starts


USUAL = Capabilities(
    room=Room(9_500), parts=True, tells_failures=True
)  # of whom hooks are made for
