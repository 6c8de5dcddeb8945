"""Kernels of Triton and Gluon, compiled here and run against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

triton = pytest.importorskip("triton")
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import ptx_tc
from ptx_tc.testing import assert_matches

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


@triton.jit
def pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(c.dtype))


@triton.jit
def scaled(a, sa, b, sb, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, K)
    rs = tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * K + rk[None, :])
    y = tl.load(b + rn[:, None] * K + rk[None, :])
    sx = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
    sy = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.dot_scaled(x, sx, "e4m3", y.T, sy, "e4m3")
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + column, e / tl.sum(e, 0), mask=column < n)


def matrix(rng: np.random.Generator, shape: tuple[int, ...], dtype: object) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "out", "shape"),
    [
        (np.float16, np.float16, (128, 128, 64)),
        (np.float16, np.float32, (256, 128, 192)),
        (BF16, BF16, (128, 256, 128)),
        (E4M3, np.float16, (128, 128, 256)),
        (np.float32, np.float32, (128, 128, 64)),
        (np.int8, np.int32, (128, 128, 128)),
        # Not a multiple of the tile.
        (np.float16, np.float16, (100, 90, 80)),
    ],
)
def test_pointers(dtype, out, shape) -> None:
    if dtype is np.int8:
        kernel, cast = integers, np.int64
    else:
        kernel, cast = pointers, np.float64
    rng = np.random.default_rng(1)
    m, n, k = shape
    a, b, c = matrix(rng, (m, k), dtype), matrix(rng, (k, n), dtype), np.zeros((m, n), out)
    block = 64 if np.dtype(dtype).itemsize > 1 else 128
    if dtype is np.float32:
        block = 32
    grid = (-(-m // 128), -(-n // 128))
    run = ptx_tc.triton.run(kernel, grid, a, b, c, m, n, k, BM=128, BN=128, BK=block)
    run.raise_for_findings()
    assert_matches(c, a.astype(cast) @ b.astype(cast), operands=(a, b), run=run)


@triton.jit
def integers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@pytest.mark.parametrize(("dtype", "arch", "warps"), [(np.float16, "sm_100a", 4), (BF16, "sm_103a", 8), (E4M3, "sm_100a", 4)])
def test_descriptors(dtype, arch, warps) -> None:
    rng = np.random.default_rng(2)
    m, n, k = 256, 128, 256
    out = np.float16 if dtype is E4M3 else dtype
    a, b, c = matrix(rng, (m, k), dtype), matrix(rng, (n, k), dtype), np.zeros((m, n), out)
    block = 64 if np.dtype(dtype).itemsize > 1 else 128
    tensor = ptx_tc.triton.tensor
    run = ptx_tc.triton.run(
        descriptors,
        lambda meta: (m // meta["BM"], n // meta["BN"]),
        TensorDescriptor.from_tensor(tensor(a), [128, block]),
        TensorDescriptor.from_tensor(tensor(b), [128, block]),
        TensorDescriptor.from_tensor(tensor(c), [128, 128]),
        k,
        BM=128,
        BN=128,
        BK=block,
        arch=arch,
        num_warps=warps,
    )
    run.raise_for_findings()
    assert_matches(c, a.astype(np.float64) @ b.astype(np.float64).T, operands=(a, b.T), run=run)


def test_scales() -> None:
    rng = np.random.default_rng(3)
    m, n, k = 128, 128, 128
    a, b, c = matrix(rng, (m, k), E4M3), matrix(rng, (n, k), E4M3), np.zeros((m, n), np.float32)
    sa, sb = (rng.integers(126, 129, (rows, k // 32)).astype(np.uint8) for rows in (m, n))
    ptx_tc.triton.run(scaled, (1,), a, sa, b, sb, c, K=k, BM=m, BN=n).raise_for_findings()

    def whole(x: np.ndarray, scales: np.ndarray) -> np.ndarray:
        return x.astype(np.float64) * np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1)

    np.testing.assert_array_equal(c, whole(a, sa) @ whole(b, sb).T)


def test_without_tensor_cores() -> None:
    x = np.random.default_rng(4).standard_normal((7, 300)).astype(np.float32)
    y = np.zeros_like(x)
    ptx_tc.triton.run(softmax, (7,), x, y, 300, B=512).raise_for_findings()
    wanted = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, wanted / wanted.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)


@triton.jit
def neighbours(counter, x, out, N: tl.constexpr):
    i = tl.program_id(0)
    tl.store(x + i, i + 1)
    tl.atomic_add(counter, 1)
    while tl.atomic_add(counter, 0) < N:
        pass
    tl.store(out + i, tl.load(x + (i + 1) % N))


def test_a_barrier_of_the_grid() -> None:
    counter, x, out = (np.zeros(size, np.int32) for size in (1, 4, 4))
    ptx_tc.triton.run(neighbours, (4,), counter, x, out, N=4).raise_for_findings()
    np.testing.assert_array_equal(out, [2, 3, 4, 1])


def test_arrays_of_a_device() -> None:
    device = ptx_tc.Device()
    x = device.upload(np.ones((3, 100), np.float32))
    y = device.empty((3, 100), np.float32)
    ptx_tc.triton.run(softmax, (3,), x, y, 100, B=128, device=device).raise_for_findings()
    np.testing.assert_allclose(y.numpy(), 0.01, rtol=1e-5)


def test_compile_by_a_signature() -> None:
    compiled = ptx_tc.triton.compile(
        softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 256}, arch="sm_103a", num_warps=2
    )
    assert ".target sm_103a" in compiled.ptx and not ptx_tc.check(compiled.ptx).errors
    x = np.ones((2, 200), np.float32)
    y = np.zeros_like(x)
    compiled.launch(2, x, y, 200).raise_for_findings()
    np.testing.assert_allclose(y, 1 / 200, rtol=1e-5)
    with pytest.raises(ptx_tc.LaunchError, match="4 parameters"):
        compiled.launch(2, x)


def test_names_of_arrays_are_those_of_python() -> None:
    x = np.ones((1, 100), np.float32)
    run = ptx_tc.triton.run(softmax, (1,), x, np.zeros(10, np.float32), 100, B=128)
    assert run.verdict == "findings"
    run = ptx_tc.triton.run(softmax, (1,), x, np.zeros_like(x), 100, B=128)
    assert "x[0, 5]" in run.explain("y[0, 5]")


def test_what_is_no_kernel() -> None:
    with pytest.raises(ptx_tc.LaunchError, match="no kernel of Triton"):
        ptx_tc.triton.run(len, (1,))
    with pytest.raises(ptx_tc.LaunchError, match="refuses the arguments"):
        ptx_tc.triton.run(softmax, (1,), np.ones(3, np.float32), B=128)
    with pytest.raises(ptx_tc.LaunchError, match="`hopper` is no target"):
        ptx_tc.triton.run(softmax, (1,), np.ones(3), np.ones(3), 3, B=4, arch="hopper")
