"""The `holdfast` command. Hooks, the status line and the server go straight there, all else to the command line."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is not worth loading; see `hooks.launch`
    from typing import NoReturn


def start() -> NoReturn:
    """The whole life of the process."""
    code = main()
    if _asked() in (["hook"], ["statusline"]):
        # All is written and closed. To take the interpreter apart as well would take a fifth of its start.
        os._exit(code)
    sys.exit(code)


def _asked() -> list[str]:
    return sys.argv[1:2] if not {"-h", "--help"} & set(sys.argv) else []


def main() -> int:
    asked = _asked()
    if asked == ["mcp"]:
        from holdfast import server

        return server.main(sys.argv[2:])
    # All else ends soon: it collects no garbage, and no plugin of pydantic is to change how our own models read.
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if asked == ["hook"]:
        from holdfast.hooks import launch

        return launch.main(sys.argv[2:])
    if asked == ["statusline"]:
        from holdfast.hooks import statusline

        return statusline.main()
    from holdfast.cli.main import run

    return run()


if __name__ == "__main__":
    start()
