"""The `holdfast` command. A hook goes straight to the door; all else goes to the command line."""

from __future__ import annotations

import sys


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from holdfast.hooks import launch

        return launch.main(sys.argv[2:])
    from holdfast.cli.main import run

    return run()


if __name__ == "__main__":
    sys.exit(main())
