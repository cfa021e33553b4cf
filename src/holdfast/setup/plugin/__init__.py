"""Sets up the plugin's own environment. Run by bin/holdfast from the plugin's folder, uninstalled.

So only the standard library is at hand, and what of Holdfast needs no more. `marker` is for others as well:
it tells whether Holdfast runs from such an environment.
"""
