"""What a process that ends within the tenth of a second does without.

To be called only by a process that is ours alone and is about to end: not by the server, nor where Holdfast
is a guest in somebody's tests.
"""

from __future__ import annotations

import gc
import sys

_PLUGINS = "pydantic.plugin._loader"


def begin() -> None:
    """Collect no garbage, and have pydantic look for no plugins."""
    gc.disable()
    # To look for them, pydantic searches all installed packages, for as long as a bare interpreter
    # takes; what it finds would change how our own models read. Where this module has another name
    # in a later pydantic, it looks for them as before.
    loader = type(sys)(_PLUGINS)  # the type of modules, without loading what has its name
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(_PLUGINS, loader)
