"""A hook by hand that keeps a state: it looks for no workflow, checks nothing, and takes no lock."""

import json
import os
import sys

sent = json.load(sys.stdin)
path = os.path.join(sent["cwd"], "state.json")
try:
    with open(path, encoding="utf-8") as file:
        state = json.load(file)
except FileNotFoundError:
    state = {"compactions": 0}
state["compactions"] += 1
with open(f"{path}.new", "w", encoding="utf-8") as file:
    json.dump(state, file)
os.replace(f"{path}.new", path)
print("The workflow is in phase 1.")
