"""The entry of every hook: an answer that was prepared is printed, anything else takes the full path.

Until it is known which, nothing is loaded but what is named here and what the interpreter has loaded
anyway: most runs end here, and loading `json` alone would cost them half as much again. So these modules,
and those that they name, do without `typing`, `re` and whatever loads them.
"""

from __future__ import annotations

import os
import sys
import time

from holdfast import homes, pipes
from holdfast.bootstrap import marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> int:
    """Answer the one event on stdin. `holdfast hook` ends here."""
    raw = pipes.read_stdin()
    if homes.is_switched_off(os.environ):
        return 0
    marker.note_use(sys.prefix, time.time())
    said = _prepared(raw, arguments)
    if said is not None:
        return pipes.write(said)
    from holdfast.hooks import full

    return full.main(raw, arguments)


def _prepared(raw: bytes, arguments: Sequence[str]) -> bytes | None:
    try:
        from holdfast.hooks import quick
    except ImportError:  # another interpreter than CPython
        return None
    return quick.answer(raw, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
