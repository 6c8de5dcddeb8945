"""Kernels that compilers made, against numpy: the modules of fixtures/kernels."""

from __future__ import annotations

import pathlib

import ml_dtypes
import numpy as np
import pytest

import ptx_tc
from ptx_tc.testing import assert_matches

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "kernels"
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def kernel(module: str, name: str) -> ptx_tc.Kernel:
    return ptx_tc.ObjectCode.from_ptx(KERNELS / f"{module}.ptx").get_kernel(name)


def matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: object) -> np.ndarray:
    """Small whole numbers: all sums are exact."""
    return rng.integers(-3, 4, shape).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize(
    ("module", "name", "a_type", "b_type", "d_type", "n", "pair", "sign"),
    [
        ("gemm_f16_tma_sm100a", "gemm_f16_128x128", np.float16, np.float16, np.float16, 128, 1, 1),
        ("gemm_f16_tma_sm100a", "gemm_bf16_128x64", BF16, BF16, BF16, 64, 1, 1),
        ("gemm_f16_tma_sm100a", "gemm_bf16_negated_128x32", BF16, BF16, np.float32, 32, 1, -1),
        ("gemm_fp8_tma_sm100f", "gemm_e4m3_e4m3_128x128", E4M3, E4M3, BF16, 128, 1, 1),
        ("gemm_fp8_tma_sm100f", "gemm_e5m2_e4m3_128x192", E5M2, E4M3, BF16, 192, 1, 1),
        ("gemm_i8_tma_sm100a", "gemm_s8_128x128", np.int8, np.int8, np.int32, 128, 1, 1),
        ("gemm_tf32_tma_sm103a", "gemm_tf32_128x128", np.float32, np.float32, np.float32, 128, 1, 1),
        ("gemm_cta_pair_sm100a", "gemm_pair_f16_128x256", np.float16, np.float16, np.float16, 256, 2, 1),
        ("gemm_cta_pair_sm100a", "gemm_pair_tf32_256x64", np.float32, np.float32, np.float32, 64, 2, 1),
    ],
)
def test_nvcc(module, name, a_type, b_type, d_type, n, pair, sign) -> None:
    rng = np.random.default_rng(1)
    m = 128 if "pair_f16_128" in name else 128 * pair
    block = 128 // np.dtype(a_type).itemsize
    a, b = matrix(rng, (m, 2 * block), a_type), matrix(rng, (n, 2 * block), b_type)
    d = np.zeros((m, n), d_type)
    config = ptx_tc.LaunchConfig(grid=1, cluster=pair if pair > 1 else None, shmem_size=230_000)
    run = ptx_tc.launch(
        config,
        kernel(module, name),
        ptx_tc.TensorMap(a, box=(m // pair, block), swizzle="128B"),
        ptx_tc.TensorMap(b, box=(n // pair, block), swizzle="128B"),
        d,
        m,
        n,
        2,
    )
    run.raise_for_findings()
    assert run.known(d).all()
    assert_matches(d, sign * product(a, b), operands=(a, b.T), run=run)


@pytest.mark.parametrize(
    ("module", "name", "dtype", "out", "shape", "strides"),
    [
        ("triton_matmul_fp16_sm100a", "matmul", np.float16, np.float16, (256, 128, 192), True),
        ("triton_matmul_fp8_sm100a", "matmul", E4M3, np.float16, (128, 256, 256), True),
        ("triton_matmul_persistent_sm100a", "matmul_descriptors", np.float16, np.float16, (256, 256, 128), False),
        ("triton_matmul_warp_specialized_sm100a", "matmul_descriptors", BF16, BF16, (256, 256, 128), False),
        ("triton_matmul_cluster_sm103a", "matmul_descriptors", np.float16, np.float16, (256, 128, 128), False),
    ],
)
def test_triton(module, name, dtype, out, shape, strides) -> None:
    rng = np.random.default_rng(2)
    m, n, k = shape
    a, b, c = matrix(rng, (m, k), dtype), matrix(rng, (n, k), dtype), np.zeros((m, n), out)
    pair = "cluster" in module
    grid = 1 if m == 128 or pair else 2
    scratch = [np.zeros(1 << 20, np.uint8), None]
    run = ptx_tc.launch(
        ptx_tc.LaunchConfig(grid=grid, cluster=2 if pair else None, shmem_size=230_000),
        kernel(module, name),
        *(a, b, c, m, n, k),
        *((k, k, n) if strides else ()),
        *scratch,
    )
    run.raise_for_findings()
    assert_matches(c, product(a, b), operands=(a, b.T), run=run)


def test_attention() -> None:
    rng = np.random.default_rng(3)
    length, depth = 256, 128
    q, k, v = (rng.standard_normal((length, depth)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    scale = 1 / np.sqrt(depth)
    run = ptx_tc.launch(
        ptx_tc.LaunchConfig(grid=2, shmem_size=232_000),
        kernel("triton_attention_sm100a", "attention"),
        *(q, k, v, o, scale * np.log2(np.e), length, np.zeros(1 << 20, np.uint8), None),
    )
    run.raise_for_findings()
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    wanted = weights @ v.astype(np.float64) / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(o.astype(np.float64), wanted, atol=3e-4)


def test_a_wrong_swizzle_is_seen_and_explained() -> None:
    rng = np.random.default_rng(4)
    a, b = matrix(rng, (128, 64), np.float16), matrix(rng, (128, 64), np.float16)
    d = np.zeros((128, 128), np.float16)
    run = ptx_tc.launch(
        ptx_tc.LaunchConfig(grid=1, shmem_size=230_000),
        kernel("gemm_f16_tma_sm100a", "gemm_f16_128x128"),
        ptx_tc.TensorMap(a, box=(128, 64), swizzle="none"),
        ptx_tc.TensorMap(b, box=(128, 64), swizzle="128B"),
        *(d, 128, 128, 1),
        names={"gemm_f16_128x128_param_2": "d"},
    )
    with pytest.raises(ptx_tc.FindingsError, match="SIM504.*\n(.*\n)*.*its descriptor reads"):
        run.raise_for_findings()
    with pytest.raises(AssertionError) as wrong:
        assert_matches(d, product(a, b), operands=(a, b.T), run=run)
    text = str(wrong.value)
    assert "elements are wrong. The first is result[" in text, text
    assert "tcgen05.mma" in text, text


def test_memories_can_be_looked_at() -> None:
    rng = np.random.default_rng(5)
    a, b = matrix(rng, (128, 64), np.float16), matrix(rng, (128, 64), np.float16)
    d = np.zeros((128, 128), np.float16)
    gemm = kernel("gemm_f16_tma_sm100a", "gemm_f16_128x128")
    maps = (ptx_tc.TensorMap(it, box=(128, 64), swizzle="128B") for it in (a, b))
    run = ptx_tc.launch(ptx_tc.LaunchConfig(grid=1, shmem_size=230_000), gemm, *maps, d, 128, 128, 1)
    run.raise_for_findings()
    text = (KERNELS / "gemm_f16_tma_sm100a.ptx").read_text()
    start = text.index("gemm_f16_128x128(")
    line = text.count("\n", 0, text.index("tcgen05.ld.sync", start)) + 1
    cells = run.tensor_memory(until=f"gemm.ptx:{line}")
    assert cells.shape == (128, 512)
    sums = cells.view(np.float32)[:, :128]
    assert not np.ma.getmaskarray(sums).any()
    np.testing.assert_array_equal(sums, product(a, b))
    # The first row of A, whose pieces of 16 bytes stay where they are in a swizzle of 128 bytes.
    shared = run.shared(0, until=line).compressed().tobytes()
    assert a[0].tobytes() in shared
    with pytest.raises(IndexError):
        run.shared(7)
