"""Kernels of CUDA C++, compiled here and run against numpy."""

from __future__ import annotations

import pathlib
import subprocess

import numpy as np
import pytest

import ptx_tc
from ptx_tc import cuda

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "kernels" / "src"
SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
COMPILERS = [it for it, found in (("nvcc", cuda.find_nvcc()), ("nvrtc", cuda.find_nvrtc())) if found]
if not COMPILERS:
    pytest.skip("no compiler for CUDA is installed", allow_module_level=True)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_saxpy(compiler) -> None:
    kernel = cuda.compile(SAXPY, compiler=compiler, name="saxpy.cu").get_kernel("saxpy")
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    ptx_tc.launch(ptx_tc.LaunchConfig(grid=8, block=128), kernel, 1000, 2.0, x, y).raise_for_findings()
    np.testing.assert_array_equal(y, 2 * x + 1)
    run = ptx_tc.launch(ptx_tc.LaunchConfig(grid=8, block=128), kernel, 1001, 2.0, x, y)
    # Lines of the source are named.
    assert run.verdict == "findings" and run.findings[0].source and run.findings[0].source[1] == 4


@pytest.mark.parametrize("compiler", COMPILERS)
def test_errors_are_those_of_the_compiler(compiler) -> None:
    with pytest.raises(cuda.CompileError, match="undefined"):
        cuda.compile("__global__ void k() { missing(); }\n", compiler=compiler)
    with pytest.raises(cuda.CompileError, match="cannot read"):
        cuda.compile("missing.cu", compiler=compiler)


@pytest.mark.skipif("nvcc" not in COMPILERS, reason="nvcc is not installed")
def test_a_gemm() -> None:
    code = cuda.compile(SOURCES / "gemm_f16_simple.cu", options=["-std=c++20"])
    kernel = code.get_kernel("gemm_f16_simple_128x128")
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    run = ptx_tc.launch(ptx_tc.LaunchConfig(grid=1, block=128), kernel, a, b, c, 128, 128)
    run.raise_for_findings()
    ptx_tc.testing.assert_matches(c, a.astype(np.float64) @ b.astype(np.float64).T, operands=(a, b.T), run=run)


@pytest.mark.skipif("nvcc" not in COMPILERS, reason="nvcc is not installed")
@pytest.mark.parametrize("option", ["-no-compress", "--compress-mode=size", "--compress-mode=speed", "--compress-mode=default"])
def test_ptx_in_fat_binaries(option, tmp_path) -> None:
    (tmp_path / "a.cu").write_text(SAXPY + SAXPY.replace("saxpy", "other"), encoding="utf-8")
    nvcc = cuda.find_nvcc()
    includes = [it for folder in cuda._include_folders() for it in ("-I", folder)]
    targets = ["-gencode", "arch=compute_100a,code=[compute_100a,sm_100a]", "-gencode", "arch=compute_90,code=compute_90"]
    subprocess.run([nvcc, "-fatbin", *targets, option, *includes, "a.cu", "-o", "a.fatbin"], cwd=tmp_path, check=True)
    modules = [ptx_tc.ObjectCode.from_ptx(tmp_path / "a.fatbin", module=it) for it in range(2)]
    assert {".target sm_100a" in it.code.decode() for it in modules} == {True, False}
    for code in modules:
        assert sorted(code.kernels) == ["other", "saxpy"]
    data = (tmp_path / "a.fatbin").read_bytes()
    # Within something else, and cut off anywhere.
    assert ptx_tc.ObjectCode.from_ptx(b"\x7fELF\0" + data).kernels
    for end in range(0, len(data), 97):
        try:
            ptx_tc.ObjectCode.from_ptx(b"\0" + data[:end])
        except ptx_tc.CheckError:
            pass
