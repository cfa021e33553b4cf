"""The `holdfast` command. Hooks, the status line and the server go straight there, all else to the command line."""

from __future__ import annotations

import sys


def main() -> int:
    asked = sys.argv[1:2] if not {"-h", "--help"} & set(sys.argv) else []
    if asked == ["hook"]:
        from holdfast.hooks import launch

        return launch.main(sys.argv[2:])
    if asked == ["statusline"]:
        from holdfast.hooks import statusline

        return statusline.main()
    if asked == ["mcp"]:
        from holdfast.server import main as server

        return server.main(sys.argv[2:])
    from holdfast.cli.main import run

    return run()


if __name__ == "__main__":
    sys.exit(main())
