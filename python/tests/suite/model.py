"""The arithmetic of docs/numbers.md, written a second time: in numpy, one instruction after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Fractional bits of the terms of a sum.
KEPT = 25
#: The exponent of a term that is zero.
OF_ZERO = -133
#: The least exponents of normal numbers.
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float8_e4m3fn": -6, "float8_e5m2": -14}
#: Products of one instruction.
PRODUCTS = {"float16": 16, "bfloat16": 16, "float32": 8, "float8_e4m3fn": 32, "float8_e5m2": 32}


def _numbers(array: Any) -> tuple[Any, Any]:
    """The values in double precision, and their exponents."""
    name = array.dtype.name
    if name == "float32":
        # tf32: the low 13 bits do not count.
        array = (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    values = array.astype(np.float64)
    return values, np.maximum(np.frexp(values)[1] - 1, LEAST[name])


def _cut(sums: Any) -> Any:
    """Double precision cut towards zero to single precision."""
    exponent = np.maximum(np.frexp(sums)[1] - 1, -126)
    quantum = np.ldexp(1.0, exponent - 23)
    return np.trunc(sums / quantum) * quantum


def fused(a: Any, b: Any, d: Any = None) -> Any:
    """A (M x K) times B (K x N) plus D in f32, as instructions of the tensor core along K add it."""
    products = PRODUCTS[a.dtype.name]
    (x, of_x), (y, of_y) = _numbers(a), _numbers(b)
    m, k = x.shape
    out = np.zeros((m, y.shape[1])) if d is None else np.asarray(d).astype(np.float64)
    for start in range(0, k, products):
        part = slice(start, start + products)
        terms = x[:, part, None] * y[None, part, :]
        exponents = np.where(terms == 0, OF_ZERO, of_x[:, part, None] + of_y[None, part, :])
        of_out = np.where(out == 0, OF_ZERO, np.maximum(np.frexp(out)[1] - 1, -126))
        most = np.maximum(exponents.max(axis=1), of_out)
        scale = np.ldexp(1.0, KEPT - most)
        total = np.trunc(terms * scale[:, None, :]).sum(axis=1) + np.trunc(out * scale)
        out = _cut(total / scale)
    return out.astype(np.float32) + np.float32(0)
