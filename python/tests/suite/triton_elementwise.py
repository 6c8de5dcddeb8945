"""Triton: element by element."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

import ptx_tc

from .case import Compared, case

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
run = ptx_tc.triton.run


def normal(shape: object, seed: int, dtype: object = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@case("vector add", "Triton", "1000", gate=True)
def add() -> Compared:
    x, y = normal(1000, 1), normal(1000, 2)
    out = np.zeros_like(x)
    return Compared(run(add_kernel, (4,), x, y, out, 1000, B=256), out, x + y, model=x + y)


@triton.jit
def dropout_kernel(x, out, n, p, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=mask) / (1 - p), 0.0), mask=mask)


def philox(seed: int, offsets: np.ndarray) -> np.ndarray:
    """The first of the four words of Philox 4x32-10."""
    counter = [offsets.astype(np.uint64)] + [np.zeros(offsets.size, np.uint64)] * 3
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            (second >> np.uint64(32)) ^ counter[1] ^ key[0],
            second & low,
            (first >> np.uint64(32)) ^ counter[3] ^ key[1],
            first & low,
        ]
        key = [key[0] + np.uint64(0x9E3779B9) & low, key[1] + np.uint64(0xBB67AE85) & low]
    return counter[0].astype(np.uint32)


def uniform(words: np.ndarray) -> np.ndarray:
    """As `tl.rand` makes numbers of words."""
    signed = words.view(np.int32)
    positive = np.where(signed < 0, -signed - 1, signed)
    return positive.astype(np.float32) * np.float32(4.6566127342e-10)


@case("dropout by philox", "Triton", "2000", gate=True)
def dropout() -> Compared:
    x, p, seed = normal(2000, 3), 0.5, 123
    out = np.zeros_like(x)
    launched = run(dropout_kernel, (4,), x, out, 2000, p, seed, B=512)
    keep = uniform(philox(seed, np.arange(2000))) > np.float32(p)
    wanted = np.where(keep, x / np.float32(0.5), np.float32(0))
    return Compared(launched, out, wanted, rtol=1e-6)


@triton.jit
def randint_kernel(out, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.randint(seed, at))


@case("random integers by philox", "Triton", "1024")
def randint() -> Compared:
    out = np.zeros(1024, np.int32)
    launched = run(randint_kernel, (2,), out, 7, B=512)
    wanted = philox(7, np.arange(1024)).view(np.int32)
    return Compared(launched, out, wanted, model=wanted)


@triton.jit
def swiglu_kernel(gate, up, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    g = tl.load(gate + at, mask=mask, other=0.0).to(tl.float32)
    u = tl.load(up + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), mask=mask)


@case("SwiGLU in bf16", "Triton", "1500", gate=True)
def swiglu() -> Compared:
    gate, up = normal(1500, 4, BF16), normal(1500, 5, BF16)
    out = np.zeros(1500, BF16)
    launched = run(swiglu_kernel, (3,), gate, up, out, 1500, B=512)
    g, u = gate.astype(np.float64), up.astype(np.float64)
    return Compared(launched, out, g / (1 + np.exp(-g)) * u, rtol=2**-8, atol=1e-6)


@triton.jit
def gelu_kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, 0.5 * v * (1 + tl.math.erf(v * 0.7071067811865476)), mask=at < n)


@case("GELU by erf", "Triton", "700")
def gelu() -> Compared:
    from math import erf

    x, out = normal(700, 6) * 2, np.zeros(700, np.float32)
    wanted = [0.5 * float(v) * (1 + erf(float(v) * 0.7071067811865476)) for v in x]
    return Compared(run(gelu_kernel, (3,), x, out, 700, B=256), out, np.array(wanted), rtol=3e-5, atol=1e-6)


@triton.jit
def rotary_kernel(x, y, cos, sin, D: tl.constexpr):
    row, half = tl.program_id(0), tl.arange(0, D // 2)
    c, s = tl.load(cos + row * (D // 2) + half), tl.load(sin + row * (D // 2) + half)
    a, b = tl.load(x + row * D + half), tl.load(x + row * D + D // 2 + half)
    tl.store(y + row * D + half, a * c - b * s)
    tl.store(y + row * D + D // 2 + half, b * c + a * s)


@case("rotary embedding", "Triton", "16 x 128")
def rotary() -> Compared:
    x = normal((16, 128), 7)
    y = np.zeros_like(x)
    angles = np.arange(16)[:, None] / 10000 ** (np.arange(64) / 64)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    a, b = x[:, :64].astype(np.float64), x[:, 64:].astype(np.float64)
    wanted = np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)
    return Compared(run(rotary_kernel, (16,), x, y, cos, sin, D=128), y, wanted, atol=1e-6)


@triton.jit
def libdevice_kernel(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, libdevice.asin(v) + libdevice.tanh(v) + libdevice.pow(tl.abs(v), 1.5))


@case("libdevice: asin, tanh, pow", "Triton", "256", gate=True)
def of_libdevice() -> Compared:
    x = np.random.default_rng(8).uniform(-1, 1, 256).astype(np.float32)
    out = np.zeros_like(x)
    v = x.astype(np.float64)
    wanted = np.arcsin(v) + np.tanh(v) + np.abs(v) ** 1.5
    return Compared(run(libdevice_kernel, (1,), x, out, B=256), out, wanted, atol=2e-6)


@triton.jit
def asm_kernel(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $1, $2, 0, 0x3c; prmt.b32 $0, t, $1, 0x1203; }",
        "=r,r,r",
        [tl.load(x + at), tl.load(y + at)],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, v)


@case("inline PTX", "Triton", "256", gate=True)
def inline_asm() -> Compared:
    x, y = (np.random.default_rng(seed).integers(-(2**31), 2**31, 256).astype(np.int32) for seed in (9, 10))
    out = np.zeros_like(x)
    launched = run(asm_kernel, (1,), x, y, out, B=256)
    mixed = (x ^ y).view(np.uint8).reshape(-1, 4)
    wanted = np.ascontiguousarray(mixed[:, [3, 0, 2, 1]]).view(np.int32).reshape(-1)
    return Compared(launched, out, wanted, model=wanted)


@triton.jit
def adam_kernel(p, g, m, v, n, lr, b1, b2, eps, c1, c2, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    grad = tl.load(g + at, mask=mask, other=0.0)
    first = b1 * tl.load(m + at, mask=mask, other=0.0) + (1 - b1) * grad
    second = b2 * tl.load(v + at, mask=mask, other=0.0) + (1 - b2) * grad * grad
    new = tl.load(p + at, mask=mask, other=0.0) - lr * (first / c1) / (tl.sqrt(second / c2) + eps)
    tl.store(m + at, first, mask=mask)
    tl.store(v + at, second, mask=mask)
    tl.store(p + at, new, mask=mask)


@case("Adam, fused", "Triton", "900")
def adam() -> Compared:
    p, g, m = normal(900, 11), normal(900, 12), normal(900, 13)
    v = np.abs(normal(900, 14))
    first = 0.9 * m.astype(np.float64) + 0.1 * g
    second = 0.999 * v.astype(np.float64) + 0.001 * g.astype(np.float64) ** 2
    wanted = p - 1e-3 * (first / 0.5) / (np.sqrt(second / 0.25) + 1e-8)
    launched = run(adam_kernel, (4,), p, g, m, v, 900, 1e-3, 0.9, 0.999, 1e-8, 0.5, 0.25, B=256)
    return Compared(launched, p, wanted, rtol=1e-5, atol=1e-6)


@triton.jit
def casts_kernel(x, f8, b16, h, i8, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(f8 + at, v.to(tl.float8e4nv))
    tl.store(b16 + at, v.to(tl.bfloat16))
    tl.store(h + at, v.to(tl.float16))
    tl.store(i8 + at, v.to(tl.int8))


@case("casts to e4m3", "Triton", "1024", gate=True)
def casts() -> Compared:
    x = normal(1024, 15) * 20
    f8, b16, h, i8 = (np.zeros(1024, dtype) for dtype in (E4M3, BF16, np.float16, np.int8))
    launched = run(casts_kernel, (2,), x, f8, b16, h, i8, B=512)
    np.testing.assert_array_equal(b16.view(np.uint16), x.astype(BF16).view(np.uint16))
    np.testing.assert_array_equal(h, x.astype(np.float16))
    np.testing.assert_array_equal(i8, np.trunc(x).astype(np.int32).astype(np.int8))
    return Compared(launched, f8, x.astype(E4M3), model=x.astype(E4M3))


@triton.jit
def join_kernel(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    both = tl.interleave(tl.load(x + at), tl.load(y + at))
    even, odd = tl.split(tl.reshape(tl.flip(both, 0), (B, 2)))
    tl.store(out + tl.arange(0, 2 * B), tl.reshape(tl.join(even, odd), (2 * B,)))


@case("join, split, interleave, flip", "Triton", "2 x 128")
def join() -> Compared:
    x, y = np.arange(128, dtype=np.int32), np.arange(128, dtype=np.int32) + 1000
    out = np.zeros(256, np.int32)
    wanted = np.stack([x, y], axis=1).reshape(-1)[::-1].copy()
    return Compared(run(join_kernel, (1,), x, y, out, B=128), out, wanted, model=wanted)


@triton.jit
def double_kernel(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, tl.math.fma(v, v, 1.0) / (tl.abs(v) + 2.0))


@case("float64", "Triton", "128")
def double() -> Compared:
    x, out = normal(128, 16, np.float64), np.zeros(128)
    return Compared(run(double_kernel, (1,), x, out, B=128), out, (x * x + 1) / (np.abs(x) + 2), rtol=1e-15)
