"""Run a program, and say on stderr behind its own words how many bytes it had at most."""

import os
import sys

# macOS counts bytes, all others kilobytes.
_UNIT = 1 if sys.platform == "darwin" else 1024

started = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(started, 0)
sys.stderr.write(f"\n{usage.ru_maxrss * _UNIT}")
sys.exit(os.waitstatus_to_exitcode(status))
