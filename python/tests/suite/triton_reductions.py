"""Triton: reductions, norms, scans, sorting."""

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
def softmax_kernel(x, y, n, B: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + column, e / tl.sum(e, 0), mask=column < n)


def softmax_of(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@case("softmax", "Triton", "7 x 300", gate=True)
def softmax() -> Compared:
    x = normal((7, 300), 1)
    y = np.zeros_like(x)
    return Compared(run(softmax_kernel, (7,), x, y, 300, B=512), y, softmax_of(x), rtol=2e-5, atol=1e-7)


@triton.jit
def online_softmax_kernel(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    peak, total = -float("inf"), 0.0
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        new = tl.maximum(peak, tl.max(v, 0))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(v - new), 0)
        peak = new
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        tl.store(y + row * n + at, tl.exp(v - peak) / total, mask=at < n)


@case("softmax of long rows, online", "Triton", "3 x 1500")
def online_softmax() -> Compared:
    x = normal((3, 1500), 2) * 3
    y = np.zeros_like(x)
    return Compared(run(online_softmax_kernel, (3,), x, y, 1500, B=256), y, softmax_of(x), rtol=5e-5, atol=1e-8)


@triton.jit
def layer_norm_kernel(x, y, w, b, mean, rstd, n, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    mask = at < n
    v = tl.load(x + row * n + at, mask=mask, other=0.0).to(tl.float32)
    m = tl.sum(v, 0) / n
    centred = tl.where(mask, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    out = centred * r * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask)
    tl.store(y + row * n + at, out.to(y.dtype.element_ty), mask=mask)


@case("layer norm", "Triton", "9 x 200, f16", gate=True)
def layer_norm() -> Compared:
    x = normal((9, 200), 3, np.float16)
    w, b = normal(200, 4), normal(200, 5)
    y, mean, rstd = np.zeros_like(x), np.zeros(9, np.float32), np.zeros(9, np.float32)
    launched = run(layer_norm_kernel, (9,), x, y, w, b, mean, rstd, 200, 1e-5, B=256)
    v = x.astype(np.float64)
    centred = v - v.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(mean, v.mean(1), atol=1e-5)
    return Compared(launched, y, wanted, rtol=2**-10, atol=1e-5)


@triton.jit
def layer_norm_backward_kernel(
    dx, dy, dw, db, x, w, mean, rstd, lock, n, GROUPS: tl.constexpr, B: tl.constexpr
):
    """As in the tutorial: partial sums of dw and db in groups, each with a lock."""
    row, at = tl.program_id(0), tl.arange(0, B)
    mask = at < n
    v = tl.load(x + row * n + at, mask=mask, other=0.0)
    g = tl.load(dy + row * n + at, mask=mask, other=0.0)
    weight = tl.load(w + at, mask=mask)
    m, r = tl.load(mean + row), tl.load(rstd + row)
    hat = tl.where(mask, (v - m) * r, 0.0)
    wdy = tl.where(mask, weight * g, 0.0)
    c1, c2 = tl.sum(hat * wdy, 0) / n, tl.sum(wdy, 0) / n
    tl.store(dx + row * n + at, (wdy - (hat * c1 + c2)) * r, mask=mask)
    group = row % GROUPS
    lock += group
    count = lock + GROUPS
    dw += group * n + at
    db += group * n + at
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    part_w, part_b = g * hat, g
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw, mask=mask)
        part_b += tl.load(db, mask=mask)
    tl.store(dw, part_w, mask=mask)
    tl.store(db, part_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case("layer norm, backward, with locks", "Triton", "8 x 100", gate=True)
def layer_norm_backward() -> Compared:
    x, dy, w = normal((8, 100), 6), normal((8, 100), 7), normal(100, 8)
    v = x.astype(np.float64)
    m, r = v.mean(1, keepdims=True), 1 / np.sqrt(v.var(1, keepdims=True) + 1e-5)
    mean, rstd = m[:, 0].astype(np.float32), r[:, 0].astype(np.float32)
    dx, dw, db = np.zeros_like(x), np.zeros((4, 100), np.float32), np.zeros((4, 100), np.float32)
    lock = np.zeros(8, np.int32)
    launched = run(
        layer_norm_backward_kernel, (8,), dx, dy, dw, db, x, w, mean, rstd, lock, 100, GROUPS=4, B=128
    )
    hat, wdy = (v - m) * r, w * dy.astype(np.float64)
    wanted = (wdy - hat * (hat * wdy).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)) * r
    np.testing.assert_allclose(dw.sum(0), (dy * hat).sum(0), atol=2e-5)
    np.testing.assert_allclose(db.sum(0), dy.astype(np.float64).sum(0), atol=2e-5)
    return Compared(launched, dx, wanted, atol=2e-6)


@triton.jit
def rms_norm_kernel(x, w, y, n, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    tl.store(y + row * n + at, (v * r * tl.load(w + at, mask=at < n)).to(y.dtype.element_ty), mask=at < n)


@case("RMS norm", "Triton", "6 x 384, bf16")
def rms_norm() -> Compared:
    x, w = normal((6, 384), 9, BF16), normal(384, 10)
    y = np.zeros_like(x)
    launched = run(rms_norm_kernel, (6,), x, w, y, 384, 1e-6, B=512)
    v = x.astype(np.float64)
    wanted = v / np.sqrt((v**2).mean(1, keepdims=True) + 1e-6) * w
    return Compared(launched, y, wanted, rtol=2**-8, atol=1e-6)


@triton.jit
def rms_norm_backward_kernel(x, w, dy, dx, dw, n, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    mask = at < n
    v = tl.load(x + row * n + at, mask=mask, other=0.0)
    g = tl.load(dy + row * n + at, mask=mask, other=0.0)
    weight = tl.load(w + at, mask=mask, other=0.0)
    r = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    wg = weight * g
    dot = tl.sum(wg * v, 0)
    tl.store(dx + row * n + at, r * (wg - v * r * r * dot / n), mask=mask)
    tl.atomic_add(dw + at, g * v * r, mask=mask)


@case("RMS norm, backward, with atomics", "Triton", "5 x 180", gate=True)
def rms_norm_backward() -> Compared:
    x, w, dy = normal((5, 180), 11), normal(180, 12), normal((5, 180), 13)
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    launched = run(rms_norm_backward_kernel, (5,), x, w, dy, dx, dw, 180, 1e-6, B=256)
    v, g = x.astype(np.float64), dy.astype(np.float64)
    r = 1 / np.sqrt((v**2).mean(1, keepdims=True) + 1e-6)
    wg = w * g
    np.testing.assert_allclose(dw, (g * v * r).sum(0), atol=3e-6)
    return Compared(launched, dx, r * (wg - v * r * r * (wg * v).mean(1, keepdims=True)), atol=3e-6)


@triton.jit
def cross_entropy_kernel(logits, labels, loss, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(logits + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    peak = tl.max(v, 0)
    total = tl.log(tl.sum(tl.exp(v - peak), 0)) + peak
    label = tl.load(labels + row)
    tl.store(loss + row, total - tl.load(logits + row * n + label).to(tl.float32))


@case("cross entropy", "Triton", "10 x 777")
def cross_entropy() -> Compared:
    logits = normal((10, 777), 14)
    labels, loss = np.random.default_rng(15).integers(0, 777, 10), np.zeros(10, np.float32)
    launched = run(cross_entropy_kernel, (10,), logits, labels, loss, 777, B=1024)
    v = logits.astype(np.float64)
    wanted = np.log(np.exp(v).sum(1)) - v[np.arange(10), labels]
    return Compared(launched, loss, wanted, rtol=2e-6, atol=1e-6)


@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    part = tl.where(n == 0.0, 0.0, n_b / n)
    delta = mean_b - mean_a
    return mean_a + delta * part, m2_a + m2_b + delta * delta * n_a * part, n


@triton.jit
def welford_kernel(x, mean, var, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0)
    ones = (at < n).to(tl.float32)
    m, m2, count = tl.reduce((v, tl.zeros_like(v), ones), 0, combine)
    tl.store(mean + row, m)
    tl.store(var + row, m2 / count)


@case("variance by Welford (tl.reduce of three)", "Triton", "4 x 500")
def welford() -> Compared:
    x = normal((4, 500), 16) + 3
    mean, var = np.zeros(4, np.float32), np.zeros(4, np.float32)
    launched = run(welford_kernel, (4,), x, mean, var, 500, B=512)
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(1), rtol=1e-6)
    return Compared(launched, var, x.astype(np.float64).var(1), rtol=2e-6)


@triton.jit
def arg_kernel(x, best, least, where, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + at)
    value, index = tl.max(v, 0, return_indices=True)
    tl.store(best + row, value)
    tl.store(where + row, index)
    tl.store(least + row, tl.argmin(v, 0))


@case("max, argmax, argmin, with ties", "Triton", "8 x 512", gate=True)
def arg() -> Compared:
    x = np.random.default_rng(17).integers(-40, 40, (8, 512)).astype(np.int32)
    best, least, where = (np.zeros(8, np.int32) for _ in range(3))
    launched = run(arg_kernel, (8,), x, best, least, where, N=512)
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(least, x.argmin(1))
    return Compared(launched, where, x.argmax(1), model=x.argmax(1))


@triton.jit
def columns_kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BN,), tl.float32)
    for start in range(0, m, BM):
        row = start + tl.arange(0, BM)
        mask = (row[:, None] < m) & (column[None, :] < n)
        total += tl.sum(tl.load(x + row[:, None] * n + column[None, :], mask=mask, other=0.0), 0)
    tl.store(out + column, total, mask=column < n)


@case("sums of columns", "Triton", "150 x 100")
def columns() -> Compared:
    x = np.random.default_rng(18).integers(-9, 10, (150, 100)).astype(np.float32)
    out = np.zeros(100, np.float32)
    launched = run(columns_kernel, (2,), x, out, 150, 100, BM=32, BN=64)
    return Compared(launched, out, x.sum(0), model=x.sum(0))


@triton.jit
def cumsum_kernel(x, sums, products, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 0))
    tl.store(products + at, tl.cumprod(v * 0 + 3, 0, reverse=True))


@case("cumsum and cumprod", "Triton", "1024", gate=True)
def cumsum() -> Compared:
    x = np.random.default_rng(19).integers(-1000, 1000, 1024).astype(np.int32)
    sums, products = np.zeros_like(x), np.zeros_like(x)
    launched = run(cumsum_kernel, (1,), x, sums, products, N=1024)
    threes = np.cumprod(np.full(1024, 3, np.uint32), dtype=np.uint32)[::-1].view(np.int32)
    np.testing.assert_array_equal(products, threes)
    return Compared(launched, sums, np.cumsum(x), model=np.cumsum(x, dtype=np.int32))


@triton.jit
def step(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def recurrence_kernel(a, b, out, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(a + row * N + at), tl.load(b + row * N + at)), 0, step)
    tl.store(out + row * N + at, h)


@case("linear recurrence (selective scan)", "Triton", "4 x 256")
def recurrence() -> Compared:
    rng = np.random.default_rng(20)
    a, b = rng.uniform(0.5, 1, (4, 256)).astype(np.float32), normal((4, 256), 21)
    out = np.zeros_like(b)
    launched = run(recurrence_kernel, (4,), a, b, out, N=256)
    wanted, state = np.zeros((4, 256)), np.zeros(4)
    for i in range(256):
        state = a[:, i] * state + b[:, i]
        wanted[:, i] = state
    return Compared(launched, out, wanted, atol=2e-5)


@triton.jit
def sort_kernel(x, y, N: tl.constexpr, DESCENDING: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    tl.store(y + row * N + at, tl.sort(tl.load(x + row * N + at), descending=DESCENDING))


@case("sort", "Triton", "4 x 256", gate=True)
def sort() -> Compared:
    x = normal((4, 256), 22)
    y = np.zeros_like(x)
    wanted = -np.sort(-x, axis=1)
    return Compared(run(sort_kernel, (4,), x, y, N=256, DESCENDING=True), y, wanted, model=wanted)


@triton.jit
def topk_kernel(x, y, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    best = tl.topk(tl.load(x + row * N + tl.arange(0, N)), K)
    tl.store(y + row * K + tl.arange(0, K), best)


@case("top-k", "Triton", "8 of 3 x 512", gate=True)
def topk() -> Compared:
    x = normal((3, 512), 23)
    y = np.zeros((3, 8), np.float32)
    wanted = -np.sort(-x, axis=1)[:, :8]
    return Compared(run(topk_kernel, (3,), x, y, N=512, K=8), y, wanted, model=wanted)
