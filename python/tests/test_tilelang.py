"""Kernels of tilelang, compiled here and run against numpy."""

import numpy as np
import pytest

pytest.importorskip("tilelang")
import tilelang.language as T

import ptx_tc
from ptx_tc.testing import assert_matches


def add(n, block):
    @T.prim_func
    def main(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32"), z: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as b:
            for i in T.Parallel(block):
                z[b * block + i] = x[b * block + i] + y[b * block + i]

    return main


def gemm(m, n, k, bm, bn, bk, dtype="float16"):
    @T.prim_func
    def main(a: T.Tensor((m, k), dtype), b: T.Tensor((n, k), dtype), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            tile_a, tile_b = T.alloc_shared((bm, bk), dtype), T.alloc_shared((bn, bk), dtype)
            sums = T.alloc_fragment((bm, bn), "float32")
            T.clear(sums)
            for i in T.serial(T.ceildiv(k, bk)):
                T.copy(a[by * bm, i * bk], tile_a)
                T.copy(b[bx * bn, i * bk], tile_b)
                T.gemm(tile_a, tile_b, sums, transpose_B=True)
            T.copy(sums, c[by * bm, bx * bn])

    return main


def softmax(m, n):
    @T.prim_func
    def main(x: T.Tensor((m, n), "float32"), y: T.Tensor((m, n), "float32")):
        with T.Kernel(m, threads=128) as row:
            v, peak, total = T.alloc_fragment((1, n), "float32"), T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], v)
            T.reduce_max(v, peak, dim=1)
            for i, j in T.Parallel(1, n):
                v[i, j] = T.exp(v[i, j] - peak[i])
            T.reduce_sum(v, total, dim=1)
            for i, j in T.Parallel(1, n):
                v[i, j] = v[i, j] / total[i]
            T.copy(v, y[row, 0])

    return main


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_add(arch) -> None:
    x, y = (np.random.default_rng(seed).standard_normal(1024).astype(np.float32) for seed in (1, 2))
    z = np.zeros_like(x)
    ptx_tc.tilelang.run(add(1024, 256), x, y, z, arch=arch).raise_for_findings()
    np.testing.assert_array_equal(z, x + y)


def test_gemm() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((128, 96)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    run = ptx_tc.tilelang.run(gemm(128, 128, 96, 64, 64, 32), a, b, c)
    run.raise_for_findings()
    assert_matches(c, a.astype(np.float64) @ b.astype(np.float64).T, operands=(a, b.T), run=run)


def test_softmax() -> None:
    x = np.random.default_rng(4).standard_normal((6, 256)).astype(np.float32)
    y = np.zeros_like(x)
    ptx_tc.tilelang.run(softmax(6, 256), x, y).raise_for_findings()
    wanted = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y, wanted / wanted.sum(1, keepdims=True), rtol=2e-5)


def test_what_is_refused() -> None:
    with pytest.raises(ptx_tc.LaunchError, match="3 parameters .*but 1 arrays"):
        ptx_tc.tilelang.run(add(256, 256), np.zeros(256, np.float32))
    code = ptx_tc.tilelang.compile(add(256, 256))
    assert code.kernels == ["main_kernel"]
