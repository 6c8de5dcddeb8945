"""What a kernel of the suite is, and how its result is judged."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from ptx_tc import Run


@dataclass
class Compared:
    """What a kernel made, and what it should be."""

    runs: Union[Run, Sequence[Run]]
    result: Any
    #: In float64, or integers.
    reference: Any
    #: How far the result may be from the reference.
    rtol: float = 0.0
    atol: Any = 0.0
    #: The bits that the result has by the arithmetic of docs/numbers.md, where another program computes them.
    model: Any = None
    #: Whether all of it is known: it is a copy of what the device has.
    is_known: bool = False


@dataclass(frozen=True)
class Judged:
    """How near a result is."""

    #: The largest difference from the reference.
    error: float
    #: The largest value of the reference.
    scale: float
    #: Whether the bits are those of the model, if there is one.
    is_model: Optional[bool]
    seconds: float


def _exact(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array.astype(np.int64)


@dataclass(frozen=True)
class Case:
    """A kernel, and what it is launched with."""

    name: str
    producer: str
    shape: str
    make: Callable[[], Compared]
    #: Whether each change runs it; the others run by night.
    gate: bool = field(default=False)

    def judge(self) -> Judged:
        """Runs it.

        Raises:
            AssertionError: There are findings, or the result is wrong.
        """
        start = time.perf_counter()
        made = self.make()
        seconds = time.perf_counter() - start
        runs = [made.runs] if isinstance(made.runs, Run) else list(made.runs)
        for run in runs:
            run.raise_for_findings()
        assert made.is_known or any(_is_known(run, made.result) for run in runs), "a part of the result is not known"
        result, reference = _exact(made.result), _exact(made.reference)
        assert result.shape == reference.shape, (result.shape, reference.shape)
        error = np.abs(result - reference)
        allowed = made.atol + made.rtol * np.abs(reference)
        wrong = ~((error <= allowed) | (result == reference))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            raise AssertionError(
                f"{int(wrong.sum())} of {wrong.size} elements are wrong; [{', '.join(map(str, at))}] is {result[at]!r}, "
                f"and the reference {reference[at]!r}; largest error {np.nanmax(error):.3g}"
            )
        is_model: Optional[bool] = None
        if made.model is not None:
            is_model = _bits(made.result) == _bits(np.asarray(made.model).astype(np.asarray(made.result).dtype))
        finite = np.abs(reference[np.isfinite(reference)])
        return Judged(
            float(np.nanmax(error, initial=0.0)), float(finite.max(initial=0.0)), is_model, seconds
        )


def _bits(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _is_known(run: Run, result: Any) -> bool:
    from ptx_tc import LaunchError

    try:
        return bool(run.known(result).all())
    except LaunchError:
        # It was no argument of this one.
        return False


CASES: list[Case] = []


def case(name: str, producer: str, shape: str, *, gate: bool = False) -> Callable[[Callable[[], Compared]], Callable[[], Compared]]:
    """Adds a kernel to the suite."""

    def add(make: Callable[[], Compared]) -> Callable[[], Compared]:
        assert all(it.name != name or it.producer != producer or it.shape != shape for it in CASES), name
        CASES.append(Case(name, producer, shape, make, gate))
        return make

    return add
