"""ptx-tc, a program, as a Python package: `python -m ptx_tc` runs it."""

from ._find import find_ptx_tc_bin

__all__ = ["find_ptx_tc_bin"]
