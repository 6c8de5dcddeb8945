"""The kernels of the suite. Those that take longer run with `--nightly` only."""

from __future__ import annotations

import pytest

from suite import Case, cases


def _parameters() -> list[object]:
    marks = {True: (), False: (pytest.mark.nightly,)}
    return [pytest.param(it, id=f"{it.producer}-{it.name}", marks=marks[it.gate]) for it in cases()]


@pytest.mark.parametrize("case", _parameters())
def test_a_kernel(case: Case) -> None:
    judged = case.judge()
    assert judged.is_model is not False, "the bits are not those of the model"
