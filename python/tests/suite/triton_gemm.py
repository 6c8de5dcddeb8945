"""Triton: products of matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import ptx_tc
from ptx_tc.testing import tolerance

from .case import Compared, case
from .model import fused
from .triton_elementwise import normal

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
run = ptx_tc.triton.run
tensor = ptx_tc.triton.tensor


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def close(launched: object, c: np.ndarray, a: np.ndarray, b: np.ndarray, **more: object) -> Compared:
    """C = A B, with the bound of docs/numbers.md and the last rounding, and with the model of the arithmetic."""
    kind = {"float16": "f16", "bfloat16": "bf16", "float32": "tf32"}.get(a.dtype.name, "f8f6f4")
    last = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 0.0}[c.dtype.name]
    more.setdefault("model", fused(a, b).astype(c.dtype))
    return Compared(launched, c, exact(a, b), rtol=last, atol=tolerance(a, b, kind=kind) + 1e-7, **more)


@triton.jit
def grouped_kernel(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, ACT: tl.constexpr,
):  # fmt: skip
    """The tutorial: tiles in groups for the cache, and a leaky ReLU."""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = G * tiles_n
    first = pid // per_group * G
    size = min(tiles_m - first, G)
    m, n = first + (pid % per_group) % size, (pid % per_group) // size
    rm, rn = (m * BM + tl.arange(0, BM)) % M, (n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * sam + rk[None, :] * sak, b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK * sak
        pb += BK * sbk
    if ACT == "leaky":
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    om, on = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
    mask = (om[:, None] < M) & (on[None, :] < N)
    tl.store(c + om[:, None] * scm + on[None, :] * scn, acc.to(c.dtype.element_ty), mask=mask)


def grouped(a, b, c, bm=128, bn=128, bk=64, act="", **options) -> object:
    (m, k), n = a.shape, b.shape[1]
    grid = (-(-m // bm) * -(-n // bn),)
    sizes = dict(BM=bm, BN=bn, BK=bk, G=2, ACT=act)
    return run(grouped_kernel, grid, a, b, c, m, n, k, k, 1, n, 1, n, 1, **sizes, **options)


@case("matmul in groups of tiles (tutorial)", "Triton", "200 x 150 x 96, f16", gate=True)
def grouped_f16() -> Compared:
    a, b = normal((200, 96), 1, np.float16), normal((96, 150), 2, np.float16)
    c = np.zeros((200, 150), np.float16)
    return close(grouped(a, b, c), c, a, b)


@case("matmul with leaky ReLU", "Triton", "128 x 128 x 128, bf16")
def leaky() -> Compared:
    a, b = normal((128, 128), 3, BF16), normal((128, 128), 4, BF16)
    c = np.zeros((128, 128), np.float32)
    launched = grouped(a, b, c, act="leaky")
    sums, wanted = fused(a, b), exact(a, b)
    made = close(launched, c, a, b, model=np.where(sums >= 0, sums, np.float32(0.01) * sums))
    made.reference = np.where(wanted >= 0, wanted, 0.01 * wanted)
    return made


@case("matmul", "Triton", "128 x 128 x 256, e4m3")
def e4m3() -> Compared:
    a, b = normal((128, 256), 5, E4M3), normal((256, 128), 6, E4M3)
    c = np.zeros((128, 128), np.float16)
    return close(grouped(a, b, c, bk=128), c, a, b)


@case("matmul", "Triton", "128 x 64 x 128, e5m2")
def e5m2() -> Compared:
    a, b = normal((128, 128), 7, E5M2), normal((128, 64), 8, E5M2)
    c = np.zeros((128, 64), np.float32)
    return close(grouped(a, b, c, bn=64, bk=128), c, a, b)


@case("matmul", "Triton", "128 x 128 x 64, tf32")
def tf32() -> Compared:
    a, b = normal((128, 64), 9), normal((64, 128), 10)
    c = np.zeros((128, 128), np.float32)
    return close(grouped(a, b, c, bk=32), c, a, b)


@case("matmul of small tiles (mma.sync)", "Triton", "32 x 64 x 64, f16", gate=True)
def small() -> Compared:
    a, b = normal((32, 64), 11, np.float16), normal((64, 64), 12, np.float16)
    c = np.zeros((32, 64), np.float32)
    return close(grouped(a, b, c, bm=32, bn=64, bk=32), c, a, b)


@triton.jit
def persistent_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    """Persistent, with tensor descriptors that the host has made."""
    tiles_m = tl.cdiv(M, BM)
    tiles = tiles_m * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True, warp_specialize=WS):
        m, n = (tile % tiles_m) * BM, (tile // tiles_m) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
        c.store([m, n], acc.to(c.dtype))


def persistent(dtype: object, shape: tuple[int, int, int], programs: int, out: object = None, **options) -> Compared:
    m, n, k = shape
    a, b = normal((m, k), 13, dtype), normal((n, k), 14, dtype)
    c = np.zeros((m, n), out or dtype)
    block = 64 if np.dtype(dtype).itemsize == 2 else 128
    bn = options.pop("bn", 128)
    bm = options.pop("bm", 128)
    launched = run(
        persistent_kernel,
        (programs,),
        TensorDescriptor.from_tensor(tensor(a), [bm, block]),
        TensorDescriptor.from_tensor(tensor(b), [bn, block]),
        TensorDescriptor.from_tensor(tensor(c), [bm, bn]),
        *(m, n, k),
        BM=bm,
        BN=bn,
        BK=block,
        **options,
    )
    return close(launched, c, a, np.ascontiguousarray(b.T))


@case("persistent matmul, TMA", "Triton", "256 x 256 x 128, f16, 3 programs", gate=True)
def persistent_f16() -> Compared:
    return persistent(np.float16, (256, 256, 128), 3, WS=False)


@case("persistent matmul, TMA, roles of warps", "Triton", "256 x 256 x 128, bf16, 2 programs")
def persistent_roles() -> Compared:
    return persistent(BF16, (256, 256, 128), 2, WS=True)


@case("persistent matmul, TMA", "Triton", "256 x 128 x 256, e4m3, 1 program")
def persistent_e4m3() -> Compared:
    return persistent(E4M3, (256, 128, 256), 1, out=np.float16, WS=False)


@case("persistent matmul, two CTAs", "Triton", "256 x 128 x 128, f16")
def persistent_pair() -> Compared:
    return persistent(np.float16, (256, 128, 128), 1, bm=256, num_ctas=2, num_warps=8, WS=False, arch="sm_103a")


@triton.jit
def device_descriptors_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    of_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    of_c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(of_a.load([m, k]), of_b.load([k, n]), acc)
    of_c.store([m, n], acc.to(c.dtype.element_ty))


@case("matmul, descriptors made on the device", "Triton", "100 x 72 x 80, f16")
def device_descriptors() -> Compared:
    a, b = normal((100, 80), 15, np.float16), normal((80, 72), 16, np.float16)
    c = np.zeros((100, 72), np.float16)
    launched = run(device_descriptors_kernel, (1, 1), a, b, c, 100, 72, 80, BM=128, BN=128, BK=64)
    return close(launched, c, a, b)


@triton.jit
def split_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.program_id(2) * BK, K, BK * SPLIT):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc)
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc, sem="relaxed")


@case("split-K with f32 atomics", "Triton", "128 x 64 x 256, f16, 4 parts", gate=True)
def split_k() -> Compared:
    rng = np.random.default_rng(17)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((128, 256), (256, 64)))
    c = np.zeros((128, 64), np.float32)
    launched = run(split_k_kernel, (1, 1, 4), a, b, c, 128, 64, 256, BM=128, BN=64, BK=64, SPLIT=4)
    return Compared(launched, c, exact(a, b), model=exact(a, b))


@triton.jit
def batched_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + batch * M * K + rm[:, None] * K + rk[None, :])
        y = tl.load(b + batch * K * N + rk[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + batch * M * N + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@case("batched matmul", "Triton", "3 x 64 x 64 x 64, bf16")
def batched() -> Compared:
    a, b = normal((3, 64, 64), 18, BF16), normal((3, 64, 64), 19, BF16)
    c = np.zeros((3, 64, 64), np.float32)
    launched = run(batched_kernel, (1, 1, 3), a, b, c, 64, 64, 64, BM=64, BN=64, BK=32)
    bound = np.stack([tolerance(x, y, kind="bf16") for x, y in zip(a, b)]) + 1e-7
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return Compared(launched, c, wanted, atol=bound, model=np.stack([fused(x, y) for x, y in zip(a, b)]))


@triton.jit
def int8_kernel(a, b, sa, sb, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Quantised: scales of rows and columns and a bias in the epilogue."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rn[None, :] * K + rk[:, None]), acc)
    out = acc.to(tl.float32) * tl.load(sa + rm)[:, None] * tl.load(sb + rn)[None, :] + tl.load(bias + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], out)


@case("matmul of int8, scales and bias in the epilogue", "Triton", "128 x 128 x 128", gate=True)
def int8() -> Compared:
    rng = np.random.default_rng(20)
    a, b = (rng.integers(-128, 128, (128, 128)).astype(np.int8) for _ in range(2))
    sa, sb, bias = (rng.uniform(0.01, 0.02, 128).astype(np.float32) for _ in range(3))
    c = np.zeros((128, 128), np.float32)
    launched = run(int8_kernel, (1, 1), a, b, sa, sb, bias, c, 128, 128, 128, BM=128, BN=128, BK=64)
    sums = a.astype(np.int64) @ b.astype(np.int64).T
    wanted = sums * sa[:, None].astype(np.float64) * sb + bias
    return Compared(launched, c, wanted, rtol=3e-7, atol=1e-7)


@triton.jit
def grouped_gemm_kernel(pa, pb, pc, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The tutorial: products of different sizes, found by pointers in memory."""
    tile, done = tl.program_id(0), 0
    for g in range(groups):
        m, n, k = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        tiles_n = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * tiles_n
        while tile >= done and tile < done + tiles:
            a = tl.load(pa + g).to(tl.pointer_type(tl.float16))
            b = tl.load(pb + g).to(tl.pointer_type(tl.float16))
            c = tl.load(pc + g).to(tl.pointer_type(tl.float16))
            rm = (tile - done) // tiles_n * BM + tl.arange(0, BM)
            rn = (tile - done) % tiles_n * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for i in range(0, k, BK):
                rk = i + tl.arange(0, BK)
                acc = tl.dot(tl.load(a + rm[:, None] * k + rk[None, :]), tl.load(b + rk[:, None] * n + rn[None, :]), acc)
            tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16))
            tile += tl.num_programs(0)
        done += tiles


@case("grouped GEMM, pointers in memory (tutorial)", "Triton", "3 products of 64 to 192, f16", gate=True)
def grouped_gemm() -> Compared:
    device = ptx_tc.Device()
    sizes = np.array([[64, 64, 64], [128, 64, 32], [64, 192, 64]], np.int32)
    a = [normal((m, k), 21 + i, np.float16) for i, (m, _, k) in enumerate(sizes)]
    b = [normal((k, n), 31 + i, np.float16) for i, (_, n, k) in enumerate(sizes)]
    on_a, on_b = ([device.upload(it) for it in all] for all in (a, b))
    on_c = [device.upload(np.zeros((m, n), np.float16)) for m, n, _ in sizes]
    addresses = [np.array([it.address for it in all], np.int64) for all in (on_a, on_b, on_c)]
    launched = run(
        grouped_gemm_kernel, (2,), *addresses, sizes.reshape(-1), 3, BM=64, BN=64, BK=32, device=device
    )
    for it in on_c:
        assert it.copy_to(np.zeros(it.shape, np.float16)) == []
    c = np.concatenate([it.numpy().reshape(-1) for it in on_c])
    wanted = np.concatenate([exact(x, y).reshape(-1) for x, y in zip(a, b)])
    bound = np.concatenate([tolerance(x, y).reshape(-1) for x, y in zip(a, b)])
    model = np.concatenate([fused(x, y).reshape(-1) for x, y in zip(a, b)]).astype(np.float16)
    return Compared(launched, c, wanted, rtol=2**-11, atol=bound + 1e-7, model=model, is_known=True)


@triton.jit
def conv_kernel(
    x, w, y, H, W, C: tl.constexpr, P, Q, KO: tl.constexpr, R: tl.constexpr, S: tl.constexpr, PAD: tl.constexpr,
    BM: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Convolution as a product with what im2col would make, which is never in memory. NHWC."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    n, p, q = at // (P * Q), at // Q % P, at % Q
    ko, acc = tl.arange(0, KO), tl.zeros((BM, KO), tl.float32)
    for r in range(R):
        for s in range(S):
            h, v = p + r - PAD, q + s - PAD
            inside = (h >= 0) & (h < H) & (v >= 0) & (v < W)
            for c in range(0, C, BK):
                rc = c + tl.arange(0, BK)
                left = tl.load(x + ((n * H + h) * W + v)[:, None] * C + rc[None, :], mask=inside[:, None], other=0.0)
                right = tl.load(w + ((r * S + s) * C + rc)[:, None] * KO + ko[None, :])
                acc = tl.dot(left, right, acc)
    tl.store(y + at[:, None] * KO + ko[None, :], acc)


@case("convolution by im2col", "Triton", "2 x 8 x 8 x 32, 3 x 3, 64 filters, f16", gate=True)
def conv() -> Compared:
    rng = np.random.default_rng(41)
    x = rng.integers(-3, 4, (2, 8, 8, 32)).astype(np.float16)
    w = rng.integers(-3, 4, (3, 3, 32, 64)).astype(np.float16)
    y = np.zeros((2, 8, 8, 64), np.float32)
    sizes = dict(C=32, KO=64, R=3, S=3, PAD=1, BM=128, BK=32)
    launched = run(conv_kernel, (1,), x, w, y, 8, 8, P=8, Q=8, **sizes)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = sum(padded[:, r : r + 8, s : s + 8] @ w[r, s].astype(np.float64) for r in range(3) for s in range(3))
    return Compared(launched, y, wanted, model=wanted)


@triton.jit
def gated_kernel(a, bg, bu, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two products and their SwiGLU in one kernel."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    gate, up = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        gate = tl.dot(x, tl.load(bg + rk[:, None] * N + rn[None, :]), gate)
        up = tl.dot(x, tl.load(bu + rk[:, None] * N + rn[None, :]), up)
    tl.store(c + rm[:, None] * N + rn[None, :], (gate * tl.sigmoid(gate) * up).to(tl.bfloat16))


@case("two matmuls and SwiGLU, fused", "Triton", "128 x 64 x 128, bf16")
def gated() -> Compared:
    a, bg, bu = (normal(shape, seed, BF16) for shape, seed in (((128, 128), 42), ((128, 64), 43), ((128, 64), 44)))
    bg, bu = (bg.astype(np.float32) / 8).astype(BF16), (bu.astype(np.float32) / 8).astype(BF16)
    c = np.zeros((128, 64), BF16)
    launched = run(gated_kernel, (1, 1), a, bg, bu, c, 128, 64, 128, BM=128, BN=64, BK=64)
    g, u = exact(a, bg), exact(a, bu)
    return Compared(launched, c, g / (1 + np.exp(-g)) * u, rtol=2**-8 + 1e-4, atol=1e-4)


@triton.jit
def moe_kernel(x, w, expert, token, y, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A block of rows goes to one expert; rows are gathered by their tokens."""
    block = tl.program_id(0)
    e = tl.load(expert + block)
    rows = tl.load(token + block * BM + tl.arange(0, BM))
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * K + rk[None, :], mask=rows[:, None] >= 0, other=0.0)
        acc = tl.dot(left, tl.load(w + e * K * N + rk[:, None] * N + rn[None, :]), acc)
    tl.store(y + rows[:, None] * N + rn[None, :], acc, mask=rows[:, None] >= 0)


@case("mixture of experts, rows gathered", "Triton", "40 tokens, 3 experts, 64 x 64, f16")
def moe() -> Compared:
    rng = np.random.default_rng(45)
    x, w = normal((40, 64), 46, np.float16), normal((3, 64, 64), 47, np.float16)
    of_token = rng.integers(0, 3, 40)
    expert, token = [], []
    for e in range(3):
        mine = np.flatnonzero(of_token == e)
        for first in range(0, mine.size, 16):
            part = mine[first : first + 16]
            expert.append(e)
            token.append(np.pad(part, (0, 16 - part.size), constant_values=-1))
    y = np.zeros((40, 64), np.float32)
    launched = run(
        moe_kernel, (len(expert), 1), x, w, np.array(expert, np.int32), np.concatenate(token).astype(np.int32), y, 64, 64,
        BM=16, BN=64, BK=32,
    )  # fmt: skip
    wanted = np.stack([exact(x[i : i + 1], w[of_token[i]])[0] for i in range(40)])
    model = np.stack([fused(x[i : i + 1], w[of_token[i]])[0] for i in range(40)])
    return Compared(launched, y, wanted, atol=1e-4, model=model)
