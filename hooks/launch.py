"""The entry of every hook. Only the standard library and light modules are loaded here."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from holdfast import hooklog, sessions
from holdfast.bootstrap import marker
from holdfast.clock import Clock
from holdfast.errors import BadHookInput
from holdfast.hooks import boundary, dispatch
from holdfast.project import Surroundings, root_for_new
from holdfast.wire import events, replies


def main(arguments: Sequence[str] = ()) -> int:
    """Answer the one event on stdin. `holdfast hook` ends here."""
    surroundings, clock = Surroundings.from_environment(), Clock.from_environment()
    marker.note_use(sys.prefix, clock.now().timestamp())
    raw = dispatch.read_stdin()
    return dispatch.write(run(raw, surroundings, clock, arguments))


def run(
    raw: bytes, surroundings: Surroundings, clock: Clock, arguments: Sequence[str] = ()
) -> replies.Outcome:
    """The whole way from bytes to bytes, without the process around it."""
    if surroundings.disabled:
        return replies.Outcome()
    started = time.perf_counter()
    entry = hooklog.Entry()
    entry.root = root_for_new(surroundings.cwd, surroundings.client_project)

    def answer() -> replies.Outcome:
        event = events.parse(raw, _part(arguments))
        entry.event = event.envelope.name
        entry.session = event.envelope.session or ""
        entry.source = event.envelope.source or ""
        return dispatch.answer(event, surroundings, clock, entry)

    outcome = boundary.guard(entry, answer)
    if not entry.quiet:
        entry.why += sessions.left_alone(surroundings.state_dir, entry.session)
        spent = (time.perf_counter() - started) * 1000
        hooklog.append(surroundings.state_dir, entry.root, entry.line(clock.now(), spent))
    return outcome


def _part(arguments: Sequence[str]) -> int:
    """The number behind --part; 0 without it. By hand: a usage error would exit with 2 and block."""
    if not arguments:
        return 0
    option, _, value = " ".join(arguments).replace("=", " ", 1).partition(" ")
    if option != "--part" or not value.isascii() or not value.isdecimal() or int(value[:9]) < 1:
        raise BadHookInput(f"the arguments of the hook are wrong: {' '.join(arguments)}")
    return int(value[:9])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
