"""Kernels as people write them, compiled here and run against numpy: docs/python-kernels.md is the table of them.

    python -m suite            # in python/tests: runs all, and prints the table
    python -m suite softmax    # those with this in their names
    python -m suite --write    # writes the table into docs
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Iterator

from .case import CASES, Case, Compared

#: The modules with kernels, and the package that each needs.
MODULES = {
    "triton_elementwise": "triton",
    "triton_reductions": "triton",
    "triton_memory": "triton",
    "triton_gemm": "triton",
    "triton_scaled": "triton",
    "triton_attention": "triton",
    "gluon_gemm": "triton",
    "cuda_basics": "nvidia",
    "cuda_language": "nvidia",
    "cuda_tensor_cores": "nvidia",
    "cute_kernels": "cutlass",
}


def cases() -> Iterator[Case]:
    """All kernels whose compilers are installed."""
    for module, needs in MODULES.items():
        if importlib.util.find_spec(needs) is not None:
            importlib.import_module("." + module, __name__)
    yield from CASES


__all__ = ["Case", "Compared", "cases"]
