"""The flag --allow_plugins: packages from which a command may import what a record names."""

import sys

from absl import flags

from pe_lab.runs import allowed_plugins

_PACKAGES = flags.DEFINE_list(
    "allow_plugins",
    [],
    "packages whose encodings, schemes and tasks may be imported where a record names them",
)


def restrict(*values: object) -> None:
    """Allow the packages of the flag, and those that the command line or a config's values name."""
    named = " ".join([*sys.argv[1:], *map(str, values)])
    allowed_plugins.allow_only({*_PACKAGES.value, *allowed_plugins.packages_in(named)})
