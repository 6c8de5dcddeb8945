"""The code of docs/python.md and docs/README.md, pasted as it stands."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python ?([\w.]*)\n(.*?)```", TEXT, re.DOTALL)
FILES = {name: code for name, code in BLOCKS if name}


def test_the_blocks_in_their_order() -> None:
    namespace: dict[str, object] = {}
    blocks = [code for name, code in BLOCKS if not name]
    assert len(blocks) >= 3
    for code in blocks:
        exec(compile(code, "docs/python.md", "exec"), namespace)


def _pytest(folder: pathlib.Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", name], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("name", "needs", "mistake", "repair", "says"),
    [
        (
            "test_triton_gemm.py",
            "triton",
            "rk[:, None] * K",
            "rk[:, None] * N",
            ("SIM501", "of argument 1 (`b`), which has 49152"),
        ),
        ("test_cuda_sum.py", "nvidia", "threadIdx.x == 64", "threadIdx.x == 0", ("SIM201", "sum.cu")),
    ],
)
def test_a_first_test_fails_then_passes(tmp_path, name, needs, mistake, repair, says) -> None:
    pytest.importorskip(needs)
    code = FILES[name]
    (tmp_path / name).write_text(code, encoding="utf-8")
    failed = _pytest(tmp_path, name)
    assert failed.returncode == 1, failed.stdout
    for it in says:
        assert it in failed.stdout, failed.stdout
    assert mistake in code
    (tmp_path / name).write_text(code.replace(mistake, repair), encoding="utf-8")
    passed = _pytest(tmp_path, name)
    assert passed.returncode == 0, passed.stdout


def test_a_large_grid_in_two_processes(tmp_path) -> None:
    (tmp_path / "large_grid.py").write_text(FILES["large_grid.py"], encoding="utf-8")
    done = subprocess.run([sys.executable, "large_grid.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_large_grid_on_two_workers(tmp_path) -> None:
    pytest.importorskip("dask.distributed")
    for name in ("large_grid.py", "dask_grid.py"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    done = subprocess.run([sys.executable, "dask_grid.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_kernel_of_tilelang(tmp_path) -> None:
    pytest.importorskip("tilelang")
    # The compiler reads the source of the kernel from its file.
    (tmp_path / "tilelang_add.py").write_text(FILES["tilelang_add.py"], encoding="utf-8")
    done = subprocess.run([sys.executable, "tilelang_add.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


START = pathlib.Path(__file__).resolve().parents[2] / "docs" / "start"


def _ptx_tc(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ptx_tc", *arguments], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize(("name", "needs"), [("scale.py", "triton"), ("double.py", "cutlass")])
def test_the_first_page_makes_ptx(tmp_path, name, needs) -> None:
    pytest.importorskip(needs)
    shutil.copy(START / name, tmp_path)
    done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.ptx"))) == 1
    assert _ptx_tc(tmp_path, "check", ".", "--include", "*.ptx").returncode == 0
    ran = _ptx_tc(tmp_path, "simulate", ".")
    assert ran.returncode == 0 and "clean" in ran.stdout, ran.stdout


def test_the_first_page_compiles_with_nvcc(tmp_path) -> None:
    from ptx_tc import cuda

    if cuda.find_nvcc() is None:
        pytest.skip("no nvcc")
    source = (START / "sum.cu").read_text(encoding="utf-8")
    shutil.copy(START / "sum.toml", tmp_path)
    wrong = "threadIdx.x == 64"
    assert wrong in source
    for text, status in ((source, 1), (source.replace(wrong, "threadIdx.x == 0"), 0)):
        (tmp_path / "sum.cu").write_text(text, encoding="utf-8")
        code = cuda.compile(text, name="sum.cu")
        (tmp_path / "sum.ptx").write_bytes(code.code)
        ran = _ptx_tc(tmp_path, "simulate", "sum.ptx", "--launch", "sum.toml")
        assert ran.returncode == status, ran.stdout


def test_the_blocks_have_the_types_that_the_stubs_say(tmp_path) -> None:
    pytest.importorskip("mypy")
    blocks = [code for name, code in BLOCKS if not name] + [FILES["large_grid.py"].partition("def part")[0]]
    for index, code in enumerate(blocks):
        # A block goes on where the one before has ended.
        text = "".join(blocks[: index + 1]) if code.startswith("from ptx_tc import Device") else code
        (tmp_path / f"block_{index}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
