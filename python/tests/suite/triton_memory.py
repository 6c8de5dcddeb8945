"""Triton: gathers, scatters, atomics, and grids whose programs talk to each other."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

import ptx_tc

from .case import Compared, case
from .triton_elementwise import normal

BF16 = ml_dtypes.bfloat16
run = ptx_tc.triton.run


@triton.jit
def histogram_kernel(x, out, n, BINS: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@case("histogram with atomics", "Triton", "3000 in 64 bins", gate=True)
def histogram() -> Compared:
    x = np.random.default_rng(1).integers(0, 64, 3000).astype(np.int32)
    out = np.zeros(64, np.int32)
    wanted = np.bincount(x, minlength=64)
    return Compared(run(histogram_kernel, (6,), x, out, 3000, BINS=64, B=512), out, wanted, model=wanted)


@triton.jit
def embedding_kernel(table, index, out, D: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, D)
    tl.store(out + row * D + at, tl.load(table + tl.load(index + row) * D + at))


@case("embedding (gather of rows)", "Triton", "20 of 50 x 128")
def embedding() -> Compared:
    table, index = normal((50, 128), 2), np.random.default_rng(3).integers(0, 50, 20)
    out = np.zeros((20, 128), np.float32)
    return Compared(run(embedding_kernel, (20,), table, index, out, D=128), out, table[index], model=table[index])


@triton.jit
def scatter_kernel(x, index, out, D: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, D)
    tl.atomic_add(out + tl.load(index + row) * D + at, tl.load(x + row * D + at), sem="relaxed")


@case("scatter add of rows, f32 atomics", "Triton", "30 to 8 x 64", gate=True)
def scatter() -> Compared:
    rng = np.random.default_rng(4)
    x, index = rng.integers(-9, 10, (30, 64)).astype(np.float32), rng.integers(0, 8, 30)
    out = np.zeros((8, 64), np.float32)
    wanted = np.zeros((8, 64))
    np.add.at(wanted, index, x)
    return Compared(run(scatter_kernel, (30,), x, index, out, D=64), out, wanted, model=wanted)


@case("scatter add of rows, f16 atomics", "Triton", "30 to 8 x 64")
def scatter_half() -> Compared:
    rng = np.random.default_rng(5)
    x, index = rng.integers(-9, 10, (30, 64)).astype(np.float16), rng.integers(0, 8, 30)
    out = np.zeros((8, 64), np.float16)
    wanted = np.zeros((8, 64))
    np.add.at(wanted, index, x)
    return Compared(run(scatter_kernel, (30,), x, index, out, D=64), out, wanted, model=wanted)


@triton.jit
def gather_kernel(x, index, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@case("gather within a block (tl.gather)", "Triton", "256")
def gather() -> Compared:
    x = np.arange(256, dtype=np.float32) * 2
    index = np.random.default_rng(6).integers(0, 256, 256).astype(np.int32)
    out = np.zeros_like(x)
    return Compared(run(gather_kernel, (1,), x, index, out, N=256), out, x[index], model=x[index])


@triton.jit
def transpose_kernel(x, y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * n + c[None, :], mask=(r[:, None] < m) & (c[None, :] < n))
    tl.store(y + c[:, None] * m + r[None, :], v.T, mask=(c[:, None] < n) & (r[None, :] < m))


@case("transpose", "Triton", "100 x 70, bf16")
def transpose() -> Compared:
    x = normal((100, 70), 7, BF16)
    y = np.zeros((70, 100), BF16)
    launched = run(transpose_kernel, (2, 2), x, y, 100, 70, BM=64, BN=64)
    return Compared(launched, y, x.T, model=np.ascontiguousarray(x.T))


@triton.jit
def spmv_kernel(start, column, value, x, y, B: tl.constexpr):
    row = tl.program_id(0)
    first, end = tl.load(start + row), tl.load(start + row + 1)
    total = tl.zeros((B,), tl.float32)
    for at in range(first, end, B):
        i = at + tl.arange(0, B)
        c = tl.load(column + i, mask=i < end, other=0)
        total += tl.load(value + i, mask=i < end, other=0.0) * tl.load(x + c, mask=i < end, other=0.0)
    tl.store(y + row, tl.sum(total, 0))


@case("sparse matrix times vector (CSR)", "Triton", "12 x 90")
def spmv() -> Compared:
    rng = np.random.default_rng(8)
    dense = rng.integers(-4, 5, (12, 90)) * (rng.random((12, 90)) < 0.4)
    start = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    column = np.nonzero(dense)[1].astype(np.int32)
    value, x = dense[dense != 0].astype(np.float32), rng.integers(-4, 5, 90).astype(np.float32)
    y = np.zeros(12, np.float32)
    wanted = dense @ x
    return Compared(run(spmv_kernel, (12,), start, column, value, x, y, B=32), y, wanted, model=wanted)


@triton.jit
def grid_barrier_kernel(x, partial, counter, out, N: tl.constexpr, B: tl.constexpr):
    """The programs wait for each other, and each adds what all have written."""
    i = tl.program_id(0)
    tl.store(partial + i, tl.sum(tl.load(x + i * B + tl.arange(0, B)), 0))
    tl.atomic_add(counter, 1, sem="acq_rel")
    while tl.atomic_add(counter, 0, sem="acquire") < N:
        pass
    tl.store(out + i, tl.sum(tl.load(partial + tl.arange(0, N)), 0))


@case("sum with a barrier of the grid", "Triton", "8 x 128", gate=True)
def grid_barrier() -> Compared:
    x = np.random.default_rng(9).integers(0, 99, 1024).astype(np.int32)
    partial, counter, out = np.zeros(8, np.int32), np.zeros(1, np.int32), np.zeros(8, np.int32)
    launched = run(grid_barrier_kernel, (8,), x, partial, counter, out, N=8, B=128)
    wanted = np.full(8, x.sum())
    return Compared(launched, out, wanted, model=wanted)


@triton.jit
def last_block_kernel(x, partial, counter, out, N: tl.constexpr, B: tl.constexpr):
    """The last program to arrive adds what the others have left."""
    i = tl.program_id(0)
    tl.store(partial + i, tl.sum(tl.load(x + i * B + tl.arange(0, B)), 0))
    if tl.atomic_add(counter, 1, sem="acq_rel") == N - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, N)), 0))


@case("sum by the last block", "Triton", "16 x 64")
def last_block() -> Compared:
    x = np.random.default_rng(10).integers(0, 99, 1024).astype(np.int32)
    partial, counter, out = np.zeros(16, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    launched = run(last_block_kernel, (16,), x, partial, counter, out, N=16, B=64)
    return Compared(launched, out, [x.sum()], model=[x.sum()])


@triton.jit
def look_back_kernel(x, out, flags, sums, n, B: tl.constexpr):
    """A prefix sum in one pass: each program waits for the sum of those before it."""
    i = tl.program_id(0)
    at = i * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0)
    before = 0
    if i > 0:
        while tl.atomic_add(flags + i - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + i - 1)
    tl.store(sums + i, before + tl.sum(v, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + i, 1, sem="release")
    tl.store(out + at, tl.cumsum(v, 0) + before, mask=at < n)


@case("prefix sum in one pass, chained", "Triton", "1000 in 8 programs")
def look_back() -> Compared:
    x = np.random.default_rng(11).integers(-50, 50, 1000).astype(np.int32)
    out, flags, sums = np.zeros_like(x), np.zeros(8, np.int32), np.zeros(8, np.int32)
    launched = run(look_back_kernel, (8,), x, out, flags, sums, 1000, B=128)
    return Compared(launched, out, np.cumsum(x), model=np.cumsum(x, dtype=np.int32))


@triton.jit
def minmax_kernel(x, low, high, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_min(low, tl.min(v, 0))
    tl.atomic_max(high, tl.max(v, 0))


@case("smallest and largest by atomics, f32", "Triton", "4 x 256")
def minmax() -> Compared:
    x = normal(1024, 12)
    low, high = np.full(1, np.inf, np.float32), np.full(1, -np.inf, np.float32)
    launched = run(minmax_kernel, (4,), x, low, high, B=256)
    assert low[0] == x.min()
    return Compared(launched, high, [x.max()], model=[x.max()])


@triton.jit
def quantize_kernel(x, q, scale, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + at)
    s = tl.max(tl.abs(v), 0) / 448.0
    tl.store(scale + row, s)
    tl.store(q + row * N + at, (v / s).to(tl.float8e4nv))


@case("quantisation of rows to e4m3", "Triton", "8 x 256")
def quantize() -> Compared:
    x = normal((8, 256), 13)
    q, scale = np.zeros((8, 256), ml_dtypes.float8_e4m3fn), np.zeros(8, np.float32)
    launched = run(quantize_kernel, (8,), x, q, scale, N=256)
    np.testing.assert_allclose(scale, np.abs(x).max(1) / 448, rtol=1e-6)
    return Compared(launched, q, x / scale[:, None], rtol=2**-4 + 1e-6, atol=2.0**-10)
