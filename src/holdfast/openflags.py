"""What a file is opened with, 0 where a system has no such thing; and how a private folder is made.

Windows translates line ends and ends a file at Ctrl-Z unless told that it is bytes. It has no FIFO to
hang on, and only whoever may administer the machine makes links there.
"""

from __future__ import annotations

import os

BYTES = getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def make_private(folder: str) -> None:
    """Make *folder*, and the folders above it that are missing, for their owner alone.

    `os.makedirs` has its mode for the last one only: whoever may write to one above puts another in its place.
    """
    for attempt in (0, 1):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            return
        except FileNotFoundError:
            if attempt or os.path.dirname(folder) == folder:
                raise
            make_private(os.path.dirname(folder))
        else:
            return
