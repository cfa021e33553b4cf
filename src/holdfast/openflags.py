"""What a file is opened with; 0 where a system has no such thing.

Windows translates line ends and ends a file at Ctrl-Z unless told that it is bytes. It has no FIFO to
hang on, and only whoever may administer the machine makes links there.
"""

from __future__ import annotations

import os

BYTES = getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
