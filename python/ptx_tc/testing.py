"""Comparing results with references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._run import Run

#: Products of one instruction along K.
PRODUCTS = {
    "tf32": 8,
    "f16": 16,
    "bf16": 16,
    "f8f6f4": 32,
    "mxf8f6f4": 32,
    "i8": 32,
    "mxf4": 64,
    "mxf4nvf4": 64,
}

#: Bits of the fraction of results, and the exponent of their least number.
_FRACTIONS = {
    "float16": (10, -24),
    "bfloat16": (7, -133),
    "float32": (23, -149),
    "float64": (52, -1074),
    "float8_e4m3fn": (3, -9),
    "float8_e5m2": (2, -16),
}


def _double(array: Any) -> NDArray[np.float64]:
    import numpy as np

    if type(array).__module__.partition(".")[0] == "torch":
        array = array.detach().double().numpy()
    return np.asarray(array).astype(np.float64)


def tolerance(a: Any, b: Any, *, kind: str = "f16") -> NDArray[np.float64]:
    """How far a product of matrices computed by tensor cores may be from the exact one, with D in f32: docs/numbers.md.

    Args:
        a: M x K.
        b: K x N.
        kind: The kind of the multiply: a key of `PRODUCTS`.

    Returns:
        M x N: 0 where all sums are exact.
    """
    import numpy as np

    if kind not in PRODUCTS:
        raise ValueError(f"`{kind}` is no kind of a multiply; there are {', '.join(PRODUCTS)}")
    x, y = _double(a), _double(b)
    products = PRODUCTS[kind]
    steps = -(-x.shape[-1] // products)
    total: NDArray[np.float64] = np.abs(x) @ np.abs(y)
    is_whole = bool((x == np.rint(x)).all() and (y == np.rint(y)).all())
    if kind == "i8" or is_whole and float(total.max(initial=0)) < 2.0**24:
        return np.zeros_like(total)
    # The multiply cuts operands in f32 to the 10 bits of tf32.
    cut = 0.0
    if kind == "tf32" and any(bool((it.astype(np.float32).view(np.uint32) & 0x1FFF).any()) for it in (x, y)):
        cut = 2.0**-9
    factor = 2.0 if kind in ("mxf4", "mxf4nvf4") else (products + 1) / 4 + 1
    bound: NDArray[np.float64] = (steps * factor * 2.0**-23 + cut) * total
    return bound


def assert_matches(
    result: Any,
    reference: Any,
    *,
    operands: Optional[tuple[Any, Any]] = None,
    k: Optional[int] = None,
    kind: str = "f16",
    atol: float = 0.0,
    rtol: float = 0.0,
    run: Optional[Run] = None,
    name: Optional[str] = None,
) -> None:
    """Asserts that a result of tensor cores is as near to a reference as their arithmetic allows.

    Args:
        result: What the kernel made. Its type says how the sums were rounded in the end.
        reference: What it should be, in float32 or float64.
        operands: The matrices A (M x K) and B (K x N) that were multiplied: the bound is exact then, and 0 where all sums
            are exact.
        k: Without operands: the length of the sums. The bound is an estimate then: it is right for operands of
            random signs.
        kind: The kind of the multiply: `tf32`, `f16`, `bf16`, `f8f6f4`, `mxf8f6f4`, `i8`, `mxf4` or `mxf4nvf4`.
        atol, rtol: What is allowed besides, for what the kernel does after the multiply.
        run: The run that made the result: what is wrong first is explained, and what is not known is wrong.
        name: What the result is called in the run.

    Raises:
        AssertionError: With the first element that is wrong, and how many are.
    """
    __tracebackhide__ = True
    import numpy as np

    if kind not in PRODUCTS:
        raise ValueError(f"`{kind}` is no kind of a multiply; there are {', '.join(PRODUCTS)}")
    wanted, made = _double(reference), _double(result)
    if wanted.shape != made.shape:
        raise AssertionError(f"the result has the shape {made.shape}, and the reference {wanted.shape}")
    if operands is not None:
        if len(operands) != 2:
            raise ValueError("`operands` are two matrices, A (M x K) and B (K x N)")
        bound = tolerance(*operands, kind=kind)
        if bound.size != wanted.size:
            raise ValueError(f"a product of `operands` has the shape {bound.shape}, and the reference {wanted.shape}")
        allowed = bound.reshape(wanted.shape)
    elif k is not None:
        products = PRODUCTS[kind]
        scale = float(np.sqrt(np.mean(np.square(wanted)))) if wanted.size else 0.0
        steps = -(-k // products)
        allowed = np.full(wanted.shape, steps * ((products + 1) / 4 + 1) * 2.0**-23 * scale * np.sqrt(k))
    else:
        allowed = np.zeros(wanted.shape)
    type_name = str(getattr(result, "dtype", "float64")).rpartition(".")[2]
    if type_name in _FRACTIONS:
        bits, least = _FRACTIONS[type_name]
        allowed = allowed + np.maximum((np.abs(wanted) + allowed) * 2.0 ** -(bits + 1), 2.0 ** (least - 1))
    allowed = allowed + atol + rtol * np.abs(wanted)
    with np.errstate(invalid="ignore"):
        is_same = (made == wanted) | (np.isnan(made) & np.isnan(wanted))
        is_near = is_same | (np.abs(made - wanted) <= allowed)
    unknown = np.zeros(wanted.shape, dtype=bool)
    if run is not None:
        unknown = ~run.known(result)
    wrong = ~is_near | unknown
    if not wrong.any():
        return
    index = tuple(int(it) for it in np.argwhere(wrong)[0])
    where = f"[{', '.join(map(str, index))}]"
    what = "is not known" if unknown[index] else f"is {made[index]:.9g}"
    text = (
        f"{int(wrong.sum())} of {wrong.size} elements are wrong. The first is {name or 'result'}{where}: it {what}, and "
        f"the reference is {wanted[index]:.9g}, give or take {allowed[index]:.3g}"
    )
    if wrong.ndim > 1:
        rows = np.unique(np.argwhere(wrong)[:, 0])
        columns = np.unique(np.argwhere(wrong)[:, -1])
        text += f"\nwrong rows: {_ranges(rows)}; wrong columns: {_ranges(columns)}"
    known_names = run._names if run is not None else {}
    if run is not None:
        start = _start(result)
        called = name or next((it for it, (address, _) in known_names.items() if address == start), None)
        if called is not None:
            try:
                text += f"\n\n{run.explain(f'{called}{where}')}"
            except Exception as error:  # noqa: BLE001 -- the assertion is what matters
                text += f"\n\n{error}"
    raise AssertionError(text)


def _start(array: Any) -> int:
    from ._arrays import ByteView

    return ByteView.of(array).start


def _ranges(numbers: Any, most: int = 6) -> str:
    """`0-3, 8, 10-12`"""
    parts: list[tuple[int, int]] = []
    for number in (int(it) for it in numbers):
        if parts and parts[-1][1] + 1 == number:
            parts[-1] = parts[-1][0], number
        else:
            parts.append((number, number))
    texts = [f"{first}-{last}" if last > first else str(first) for first, last in parts[:most]]
    return ", ".join(texts) + (f" and {len(parts) - most} more" if len(parts) > most else "")
