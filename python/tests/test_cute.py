"""A kernel of CuTe DSL, compiled here and run against numpy: that of docs/python.md, for two targets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from test_docs import FILES

pytest.importorskip("cutlass")


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_an_elementwise_kernel(tmp_path, arch) -> None:
    # The compiler reads the source of the kernel from its file.
    path = tmp_path / "elementwise.py"
    code = FILES["elementwise.py"].replace('arch="sm_100a"', f'arch="{arch}"')
    path.write_text(code + "\nprint(code.code.decode())\n", encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f".target {arch}" in done.stdout
