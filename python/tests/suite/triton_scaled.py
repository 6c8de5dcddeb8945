"""Triton: block-scaled products."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import ptx_tc

from .case import Compared, case

E4M3, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
run = ptx_tc.triton.run
tensor = ptx_tc.triton.tensor


@triton.jit
def scaled_kernel(
    a, sa, b, sb, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, KIND_A: tl.constexpr, KIND_B: tl.constexpr,
    PACK_A: tl.constexpr, PACK_B: tl.constexpr, VEC: tl.constexpr,
):  # fmt: skip
    rm, rn = tl.arange(0, BM), tl.arange(0, BN)
    ka, kb, rs = tl.arange(0, K // PACK_A), tl.arange(0, K // PACK_B), tl.arange(0, K // VEC)
    x = tl.load(a + rm[:, None] * (K // PACK_A) + ka[None, :])
    y = tl.load(b + rn[:, None] * (K // PACK_B) + kb[None, :])
    sx = tl.load(sa + rm[:, None] * (K // VEC) + rs[None, :])
    sy = tl.load(sb + rn[:, None] * (K // VEC) + rs[None, :])
    tl.store(c + rm[:, None] * BN + rn[None, :], tl.dot_scaled(x, sx, KIND_A, y.T, sy, KIND_B))


def halves(narrow: np.ndarray) -> np.ndarray:
    """Two elements of four bits in a byte."""
    codes = narrow.view(np.uint8)
    return codes[:, ::2] | codes[:, 1::2] << 4


def operand(rng: np.random.Generator, kind: str, rows: int, k: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Elements as the kernel takes them, their values, and how many are in a byte."""
    if kind == "e2m1":
        codes = rng.integers(0, 16, (rows, k)).astype(np.uint8).view(E2M1)
        return halves(codes), codes.astype(np.float64), 2
    values = rng.integers(-3, 4, (rows, k)).astype(E4M3)
    return values, values.astype(np.float64), 1


def scaled(kind_a: str, kind_b: str, m: int, n: int, k: int, vec: int) -> Compared:
    rng = np.random.default_rng(3)
    (a, x, pack_a), (b, y, pack_b) = operand(rng, kind_a, m, k), operand(rng, kind_b, n, k)
    if vec == 32:
        sa, sb = (rng.integers(125, 130, (rows, k // vec)).astype(np.uint8) for rows in (m, n))
        fa, fb = (2.0 ** (it.astype(np.float64) - 127) for it in (sa, sb))
    else:
        sa, sb = (rng.choice([0.5, 1, 1.5, 2], (rows, k // vec)).astype(E4M3) for rows in (m, n))
        fa, fb = sa.astype(np.float64), sb.astype(np.float64)
    c = np.zeros((m, n), np.float32)
    sizes = dict(K=k, BM=m, BN=n, KIND_A=kind_a, KIND_B=kind_b, PACK_A=pack_a, PACK_B=pack_b, VEC=vec)
    launched = run(scaled_kernel, (1,), a, sa, b, sb, c, **sizes)
    wanted = (x * np.repeat(fa, vec, axis=1)) @ (y * np.repeat(fb, vec, axis=1)).T
    return Compared(launched, c, wanted, model=wanted)


@case("mxfp8: dot_scaled", "Triton", "128 x 128 x 128", gate=True)
def mxfp8() -> Compared:
    return scaled("e4m3", "e4m3", 128, 128, 128, 32)


@case("mxfp4: dot_scaled", "Triton", "128 x 64 x 128")
def mxfp4() -> Compared:
    return scaled("e2m1", "e2m1", 128, 64, 128, 32)


@case("nvfp4: dot_scaled", "Triton", "128 x 128 x 128")
def nvfp4() -> Compared:
    return scaled("e2m1", "e2m1", 128, 128, 128, 16)


@case("e4m3 times mxfp4: dot_scaled", "Triton", "128 x 128 x 128")
def mixed() -> Compared:
    return scaled("e4m3", "e2m1", 128, 128, 128, 32)


@triton.jit
def blocked_scales_kernel(
    a_desc, a_scale, b_desc, b_scale, c_desc, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    VEC: tl.constexpr, RM: tl.constexpr, RN: tl.constexpr, RK: tl.constexpr,
):  # fmt: skip
    """The tutorial: factors packed in the blocks of 128 x 4 that the copy into Tensor Memory wants."""
    m, n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in tl.range(0, tl.cdiv(k, BK), num_stages=2):
        a, b = a_desc.load([m * BM, i * (BK // 2)]), b_desc.load([n * BN, i * (BK // 2)])
        sa = a_scale.load([0, m * RM, i * RK, 0, 0]).reshape(RM, RK, 32, 4, 4)
        sb = b_scale.load([0, n * RN, i * RK, 0, 0]).reshape(RN, RK, 32, 4, 4)
        sa = sa.trans(0, 3, 2, 1, 4).reshape(BM, BK // VEC)
        sb = sb.trans(0, 3, 2, 1, 4).reshape(BN, BK // VEC)
        acc = tl.dot_scaled(a, sa, "e2m1", b.T, sb, "e2m1", acc)
    c_desc.store([m * BM, n * BN], acc)


def blocks(scales: np.ndarray) -> np.ndarray:
    """Factors of rows, K / VEC of each, in blocks of 128 x 4."""
    rows, columns = scales.shape
    parts = scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(parts).reshape(1, rows // 128, columns // 4, 2, 256)


@case("nvfp4 by TMA, scales in blocks (tutorial)", "Triton", "128 x 128 x 512")
def blocked_scales() -> Compared:
    m, n, k, vec, bk = 128, 128, 512, 16, 256
    rng = np.random.default_rng(4)
    (a, x, _), (b, y, _) = operand(rng, "e2m1", m, k), operand(rng, "e2m1", n, k)
    sa, sb = (rng.choice([0.5, 1, 1.5, 2], (rows, k // vec)).astype(E4M3) for rows in (m, n))
    c = np.zeros((m, n), np.float32)
    rk = bk // vec // 4
    packed_a, packed_b = blocks(sa), blocks(sb)
    launched = run(
        blocked_scales_kernel,
        (1, 1),
        TensorDescriptor.from_tensor(tensor(a), [m, bk // 2]),
        TensorDescriptor.from_tensor(tensor(packed_a), [1, 1, rk, 2, 256]),
        TensorDescriptor.from_tensor(tensor(b), [n, bk // 2]),
        TensorDescriptor.from_tensor(tensor(packed_b), [1, 1, rk, 2, 256]),
        TensorDescriptor.from_tensor(tensor(c), [m, n]),
        k,
        BM=m, BN=n, BK=bk, VEC=vec, RM=1, RN=1, RK=rk,
    )  # fmt: skip
    wanted = (x * np.repeat(sa.astype(np.float64), vec, 1)) @ (y * np.repeat(sb.astype(np.float64), vec, 1)).T
    return Compared(launched, c, wanted, model=wanted)
