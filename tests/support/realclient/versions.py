"""Which versions of the client Holdfast is tested with."""

VERSIONS = ("2.1.197", "2.1.326")
