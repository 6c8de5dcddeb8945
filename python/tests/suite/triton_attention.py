"""Triton: attention."""

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
def flash_kernel(
    q, k, v, o, lse, scale, L, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    head = tl.program_id(1) * L * D
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + rm[:, None] * D + rd[None, :])
    peak, total = tl.full([BM], -float("inf"), tl.float32), tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else L
    for start in range(0, end, BN):
        rn = start + tl.arange(0, BN)
        s = tl.dot(query, tl.load(k + head + rn[None, :] * D + rd[:, None])) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(peak - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(query.dtype), tl.load(v + head + rn[:, None] * D + rd[None, :]), acc * alpha[:, None])
        peak = new
    tl.store(o + head + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(query.dtype))
    tl.store(lse + tl.program_id(1) * L + rm, peak + tl.log2(total))


def attention_of(q, k, v, scale: float, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    q, k, v = (it.astype(np.float64) for it in (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    total = p.sum(-1, keepdims=True)
    return p / total @ v, (s.max(-1) + np.log(total[..., 0])) * 1.4426950408889634


def flash(heads: int, length: int, depth: int, causal: bool, dtype: object, bm: int, bn: int) -> Compared:
    q, k, v = (normal((heads, length, depth), seed, dtype) for seed in (1, 2, 3))
    o, lse = np.zeros_like(q), np.zeros((heads, length), np.float32)
    scale = depth**-0.5
    grid = (length // bm, heads)
    launched = run(flash_kernel, grid, q, k, v, o, lse, scale, length, D=depth, BM=bm, BN=bn, CAUSAL=causal)
    wanted, of_lse = attention_of(q, k, v, scale, causal)
    np.testing.assert_allclose(lse, of_lse, atol=1e-4)
    return Compared(launched, o, wanted, rtol=2e-2 if dtype is BF16 else 2e-3, atol=1e-2 if dtype is BF16 else 1e-3)


@case("attention", "Triton", "2 heads x 128 x 64, f16", gate=True)
def attention() -> Compared:
    return flash(2, 128, 64, False, np.float16, 128, 64)


@case("attention, causal", "Triton", "1 head x 256 x 64, bf16")
def causal() -> Compared:
    return flash(1, 256, 64, True, BF16, 128, 64)


@case("attention, causal, small tiles (mma.sync)", "Triton", "2 heads x 64 x 32, f16")
def small() -> Compared:
    return flash(2, 64, 32, True, np.float16, 32, 32)


@triton.jit
def backward_kernel(q, k, v, do, lse, delta, dk, dv, dq, scale, L, D: tl.constexpr, B: tl.constexpr):
    """Gradients of a block of keys; those of queries are added by atomics."""
    rn, rd = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D)
    key = tl.load(k + rn[:, None] * D + rd[None, :])
    value = tl.load(v + rn[:, None] * D + rd[None, :])
    acc_k, acc_v = tl.zeros([B, D], tl.float32), tl.zeros([B, D], tl.float32)
    for start in range(0, L, B):
        rm = start + tl.arange(0, B)
        query, grad = tl.load(q + rm[:, None] * D + rd[None, :]), tl.load(do + rm[:, None] * D + rd[None, :])
        s = tl.dot(query, key.T) * (scale * 1.44269504)
        p = tl.exp2(s - tl.load(lse + rm)[:, None])
        acc_v = tl.dot(p.T.to(grad.dtype), grad, acc_v)
        dp = tl.dot(grad, value.T)
        ds = (p * (dp - tl.load(delta + rm)[:, None]) * scale).to(query.dtype)
        acc_k = tl.dot(ds.T, query, acc_k)
        tl.atomic_add(dq + rm[:, None] * D + rd[None, :], tl.dot(ds, key), sem="relaxed")
    tl.store(dk + rn[:, None] * D + rd[None, :], acc_k)
    tl.store(dv + rn[:, None] * D + rd[None, :], acc_v)


@case("attention, backward", "Triton", "128 x 64, f16")
def backward() -> Compared:
    length, depth = 128, 64
    q, k, v, do = (normal((length, depth), seed, np.float16) for seed in (4, 5, 6, 7))
    scale = depth**-0.5
    o, lse = attention_of(q, k, v, scale, False)
    x, y, z, g = (it.astype(np.float64) for it in (q, k, v, do))
    p = np.exp2(x @ y.T * scale * 1.4426950408889634 - lse[:, None])
    delta = (g * o).sum(1)
    ds = p * (g @ z.T - delta[:, None]) * scale
    dk, dv, dq = (np.zeros((length, depth), np.float32) for _ in range(3))
    launched = run(
        backward_kernel, (2,), q, k, v, do, lse.astype(np.float32), delta.astype(np.float32), dk, dv, dq, scale, length,
        D=depth, B=64,
    )  # fmt: skip
    np.testing.assert_allclose(dv, p.T @ g, atol=3e-3)
    np.testing.assert_allclose(dq, ds @ y, atol=3e-3)
    return Compared(launched, dk, ds.T @ x, atol=3e-3)


@triton.jit
def paged_kernel(q, cache_k, cache_v, table, lengths, o, scale, PAGES, D: tl.constexpr, PAGE: tl.constexpr):
    """One query against keys in pages."""
    row, rd, rp = tl.program_id(0), tl.arange(0, D), tl.arange(0, PAGE)
    query = tl.load(q + row * D + rd).to(tl.float32)
    length = tl.load(lengths + row)
    peak, total, acc = -float("inf"), 0.0, tl.zeros([D], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        at = tl.load(table + row * PAGES + page) * PAGE * D
        mask = page * PAGE + rp < length
        key = tl.load(cache_k + at + rp[:, None] * D + rd[None, :], mask=mask[:, None], other=0.0).to(tl.float32)
        s = tl.where(mask, tl.sum(key * query[None, :], 1) * scale, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 0))
        p, alpha = tl.exp(s - new), tl.exp(peak - new)
        value = tl.load(cache_v + at + rp[:, None] * D + rd[None, :], mask=mask[:, None], other=0.0).to(tl.float32)
        acc = acc * alpha + tl.sum(p[:, None] * value, 0)
        total, peak = total * alpha + tl.sum(p, 0), new
    tl.store(o + row * D + rd, acc / total)


@case("attention of one query, keys in pages", "Triton", "4 queries, 16 pages of 16 x 64")
def paged() -> Compared:
    rng = np.random.default_rng(8)
    q, cache_k, cache_v = (normal(s, seed, np.float16) for s, seed in (((4, 64), 9), ((16, 16, 64), 10), ((16, 16, 64), 11)))
    table, lengths = rng.permutation(16).reshape(4, 4).astype(np.int32), np.array([5, 16, 33, 64], np.int32)
    o = np.zeros((4, 64), np.float32)
    launched = run(paged_kernel, (4,), q, cache_k, cache_v, table, lengths, o, 0.125, 4, D=64, PAGE=16)
    wanted = []
    for i in range(4):
        keys, values = (it[table[i]].reshape(-1, 64)[: lengths[i]] for it in (cache_k, cache_v))
        wanted.append(attention_of(q[i : i + 1], keys, values, 0.125, False)[0][0])
    return Compared(launched, o, np.stack(wanted), atol=1e-5)
