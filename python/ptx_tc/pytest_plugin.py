"""The pytest plugin: a fixture that runs kernels, and an option that checks what Triton compiles.

    def test_gemm(ptx_tc):
        ptx_tc.triton.run(matmul, (4, 2), a, b, c, m, n, k)      # fails if the kernel has findings
        ptx_tc.assert_matches(c, a @ b, operands=(a, b))

`pytest --ptx-tc` checks the PTX of all kernels that Triton compiles in a test; a test that compiles one with an error
fails with the finding as its text.
"""

from __future__ import annotations

import re
from typing import Any, Generator, Optional

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ptx-tc")
    group.addoption(
        "--ptx-tc",
        action="store_true",
        default=False,
        help="check the PTX of all kernels that Triton compiles in tests",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ptx_tc_allow(code, ...): findings of these rules or families do not fail the test")


class _Triton:
    """`ptx_tc.triton`, whose runs fail the test if they have findings."""

    def __init__(self, owner: Simulator) -> None:
        self._owner = owner

    def run(self, kernel: Any, grid: Any, *args: Any, **meta: Any) -> Any:
        __tracebackhide__ = True
        from . import triton

        return self._owner._looked_at(triton.run(kernel, grid, *args, **{**self._owner.options, **meta}))

    def __getattr__(self, name: str) -> Any:
        from . import triton

        return getattr(triton, name)


class Simulator:
    """Runs kernels in a test. A run with findings, or one that is incomplete, fails it; the others are in `runs`."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        #: Options for each launch, such as `runs=20`.
        self.options: dict[str, Any] = {}
        #: What was run.
        self.runs: list[Any] = []
        self._allowed = allowed
        #: `ptx_tc.triton`
        self.triton: Any = _Triton(self)

    def _looked_at(self, run: Any) -> Any:
        __tracebackhide__ = True
        self.runs.append(run)
        if run.verdict == "findings" and all(it.code.startswith(self._allowed) for it in run.findings):
            return run
        return run.raise_for_findings()

    def launch(self, config: Any, kernel: Any, *args: Any, **options: Any) -> Any:
        """`ptx_tc.launch`"""
        __tracebackhide__ = True
        from ._launch import launch

        return self._looked_at(launch(config, kernel, *args, **{**self.options, **options}))

    def assert_matches(self, result: Any, reference: Any, **options: Any) -> None:
        """`ptx_tc.testing.assert_matches`, with the last run."""
        __tracebackhide__ = True
        from .testing import assert_matches

        if self.runs and "run" not in options:
            options["run"] = self.runs[-1]
        assert_matches(result, reference, **options)

    def __getattr__(self, name: str) -> Any:
        import ptx_tc

        return getattr(ptx_tc, name)


def _allowed(item: Any) -> tuple[str, ...]:
    """The rules that a test allows: their codes, or the starts of codes, as in `ptx-tc.toml`."""
    codes = tuple(code for mark in item.iter_markers("ptx_tc_allow") for code in mark.args)
    for code in codes:
        if not isinstance(code, str) or not re.fullmatch(r"(TC|SIM)\d{0,3}", code):
            raise pytest.UsageError(f"`ptx_tc_allow` takes codes of rules such as TC703 or SIM2, not {code!r}")
    return codes


@pytest.fixture
def ptx_tc(request: pytest.FixtureRequest) -> Simulator:
    """Runs kernels of CUDA and Triton without a GPU; one with findings fails the test."""
    return Simulator(_allowed(request.node))


class _Listener:
    """Checks what Triton compiles."""

    def __init__(self, before: Optional[Any]) -> None:
        self.before = before
        self.reports: list[Any] = []
        self._known: set[str] = set()

    def __call__(self, **event: Any) -> None:
        if self.before is not None:
            self.before(**event)
        from ._findings import check

        for name, path in (event.get("metadata_group") or {}).items():
            if str(name).endswith(".ptx") and str(path) not in self._known:
                self._known.add(str(path))
                with open(path, encoding="utf-8") as file:
                    report = check(file.read(), name=str(name))
                if len(report):
                    self.reports.append(report)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    if not item.config.getoption("--ptx-tc"):
        yield
        return
    try:
        from triton import knobs
    except ImportError:
        yield
        return
    listener = _Listener(knobs.compilation.listener)
    knobs.compilation.listener = listener
    try:
        outcome = yield
    finally:
        knobs.compilation.listener = listener.before
    allowed = _allowed(item)
    wrong = [it for report in listener.reports for it in report.errors if not it.code.startswith(allowed)]
    if wrong and outcome.excinfo is None:
        outcome.force_exception(_Findings("\n".join(str(it) for it in wrong)))


class _Findings(AssertionError):
    """The PTX of a kernel has findings."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    outcome = yield
    from ._run import FindingsError

    if call.excinfo is None or not isinstance(call.excinfo.value, (FindingsError, _Findings)):
        return
    report = outcome.get_result()
    if report.outcome != "failed":
        return
    # What is wrong is in the kernel: a traceback through this package says nothing of it.
    where = ""
    for entry in reversed(call.excinfo.traceback):
        if str(entry.path) == str(item.path):
            where = f"{item.path.name}:{entry.lineno + 1}\n\n"
            break
    report.longrepr = f"{where}{call.excinfo.value}"
