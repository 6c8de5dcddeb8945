"""Options of the tests of the package."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="run what takes longer, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: takes longer, and runs with --nightly only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--nightly"):
        return
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.skip(reason="runs with --nightly only"))
