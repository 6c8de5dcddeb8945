"""Where an installation of Python puts the program."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Iterator


def find_ptx_tc_bin() -> str:
    """Returns the path of the program that was installed with this package."""
    name = "ptx-tc" + (sysconfig.get_config_var("EXE") or "")
    looked = []
    for directory in _directories():
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
        if path not in looked:
            looked.append(path)
    raise FileNotFoundError("the program of the package ptx-tc is at none of\n  " + "\n  ".join(looked))


def _directories() -> Iterator[str]:
    """Where the program may be, the likeliest first."""
    # Of this environment.
    yield sysconfig.get_path("scripts")
    # Of the Python that this environment was made from.
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(here)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    # `pip install --prefix DIR` puts this in DIR/lib/pythonX.Y/site-packages (on Windows DIR/Lib/site-packages).
    up = [os.pardir] * (2 if sys.platform == "win32" else 3)
    yield os.path.normpath(os.path.join(above, *up, scripts))
    # `pip install --target DIR` puts this in DIR.
    yield os.path.join(above, scripts)
    # `pip install --user`.
    if sys.version_info >= (3, 10):
        yield sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
    elif os.name == "nt":
        yield sysconfig.get_path("scripts", scheme="nt_user")
    else:
        yield sysconfig.get_path("scripts", scheme="posix_user")
