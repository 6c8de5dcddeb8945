"""Gluon: Tensor Memory, barriers, copies and roles are explicit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

import ptx_tc

from .case import Compared, case
from .triton_elementwise import normal
from .triton_gemm import close

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
run = ptx_tc.triton.run
NAMES = {"float16": gl.float16, "bfloat16": gl.bfloat16, "float8_e4m3fn": gl.float8e4nv, "float32": gl.float32}


def descriptor(array: np.ndarray, box: list[int], **layout: object) -> TensorDescriptor:
    layout = gl.NVMMASharedLayout.get_default_for(box, NAMES[array.dtype.name], **layout)
    return TensorDescriptor.from_tensor(ptx_tc.triton.tensor(array), box, layout)


@gluon.jit
def copy_kernel(x, y, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    at = gl.program_id(0) * B + gl.arange(0, B, layout=layout)
    gl.store(y + at, gl.load(x + at, mask=at < n) * 2, mask=at < n)


@case("elementwise, layout by hand", "Gluon", "1000", gate=True)
def copy() -> Compared:
    x = normal(1000, 1)
    y = np.zeros_like(x)
    return Compared(run(copy_kernel, (2,), x, y, 1000, B=512), y, x * 2, model=x * 2)


@gluon.jit
def cp_async_kernel(x, y, B: gl.constexpr, BLOCKS: gl.constexpr):
    """A ring of two buffers, filled by cp.async."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    ring = gl.allocate_shared_memory(gl.float32, [2, B], shared)
    at = gl.arange(0, B, layout=layout)
    async_copy.async_load(ring.index(0), x + at)
    async_copy.commit_group()
    total = gl.zeros([B], gl.float32, layout)
    for i in range(BLOCKS):
        async_copy.async_load(ring.index((i + 1) % 2), x + (i + 1) * B + at, mask=(at < B) & (i + 1 < BLOCKS))
        async_copy.commit_group()
        async_copy.wait_group(1)
        total += ring.index(i % 2).load(layout)
    gl.store(y + at, total)


@case("sums by a ring of cp.async", "Gluon", "6 x 512")
def cp_async() -> Compared:
    x = np.random.default_rng(2).integers(-9, 10, (6, 512)).astype(np.float32)
    y = np.zeros(512, np.float32)
    return Compared(run(cp_async_kernel, (1,), x, y, B=512, BLOCKS=6), y, x.sum(0), model=x.sum(0))


@gluon.jit
def tma_kernel(x_desc, y_desc, B: gl.constexpr):
    """A tile goes through shared memory and registers."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    row, column = gl.program_id(0) * B, gl.program_id(1) * B
    mbarrier.expect(bar, x_desc.block_type.nbytes)
    tma.async_load(x_desc, [row, column], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    v = tile.load(layout)
    tile.store(v * v)
    gl.nvidia.hopper.fence_async_shared()
    tma.async_store(y_desc, [row, column], tile)
    tma.store_wait(0)


@case("squares by TMA, edges out of bounds", "Gluon", "100 x 72, f32", gate=True)
def by_tma() -> Compared:
    x = normal((100, 72), 3)
    y = np.zeros_like(x)
    launched = run(tma_kernel, (2, 2), descriptor(x, [64, 64]), descriptor(y, [64, 64]), B=64)
    return Compared(launched, y, x * x, model=x * x)


@gluon.jit
def simple_kernel(a_desc, b_desc, c_desc, BK: gl.constexpr, K: gl.constexpr):
    """One stage: load, multiply, wait."""
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[1]
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(done, count=1)
    layout: gl.constexpr = TensorMemoryLayout((BM, BN), col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], layout)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [row, k], full, a)
        tma.async_load(b_desc, [k, column], full, b)
        mbarrier.wait(full, phase)
        tcgen05_mma(a, b, acc, use_acc=k > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, phase)
        phase ^= 1
    mbarrier.invalidate(full)
    mbarrier.invalidate(done)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c.store(acc.load().to(c_desc.dtype))
    gl.nvidia.hopper.fence_async_shared()
    tma.async_store(c_desc, [row, column], c)
    tma.store_wait(0)


def simple(dtype: object, out: object, m: int, n: int, k: int, bm: int, bn: int, bk: int, **options: object) -> Compared:
    a, b = normal((m, k), 4, dtype), normal((k, n), 5, dtype)
    c = np.zeros((m, n), out)
    descriptors = descriptor(a, [bm, bk]), descriptor(b, [bk, bn]), descriptor(c, [bm, bn])
    return close(run(simple_kernel, (m // bm, n // bn), *descriptors, BK=bk, K=k, **options), c, a, b)


@case("tcgen05 matmul, one stage", "Gluon", "128 x 128 x 128, f16", gate=True)
def simple_f16() -> Compared:
    return simple(np.float16, np.float16, 128, 128, 128, 128, 128, 64)


@case("tcgen05 matmul, one stage", "Gluon", "128 x 256 x 128, bf16, tiles of 64 x 128")
def simple_bf16() -> Compared:
    return simple(BF16, np.float32, 128, 256, 128, 64, 128, 64)


@gluon.jit
def pipelined_kernel(a_desc, b_desc, c_desc, k, STAGES: gl.constexpr):
    """Loads run STAGES - 1 blocks ahead of the multiplies."""
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[0]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    row, col = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BN, BK], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    layout: gl.constexpr = TensorMemoryLayout((BM, BN), col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], layout)
    blocks = gl.cdiv(k, BK)
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(full.index(i), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [row, i * BK], full.index(i), a.index(i))
        tma.async_load(b_desc, [col, i * BK], full.index(i), b.index(i))
    for i in range(blocks):
        ahead = i + STAGES - 1
        slot = ahead % STAGES
        mbarrier.wait(empty.index(slot), ((ahead // STAGES) & 1) ^ 1, pred=i > 0)
        mbarrier.expect(full.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=ahead < blocks)
        tma.async_load(a_desc, [row, ahead * BK], full.index(slot), a.index(slot), pred=ahead < blocks)
        tma.async_load(b_desc, [col, ahead * BK], full.index(slot), b.index(slot), pred=ahead < blocks)
        stage = i % STAGES
        mbarrier.wait(full.index(stage), (i // STAGES) & 1)
        tcgen05_mma(a.index(stage), b.index(stage).permute((1, 0)), acc, use_acc=i > 0)
        tcgen05_commit(empty.index(stage))
    mbarrier.wait(empty.index((blocks - 1) % STAGES), ((blocks - 1) // STAGES) & 1)
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(i))
        mbarrier.invalidate(empty.index(i))
    c = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout)
    c.store(acc.load().to(c_desc.dtype))
    gl.nvidia.hopper.fence_async_shared()
    tma.async_store(c_desc, [row, col], c)
    tma.store_wait(0)


@case("tcgen05 matmul, ring of stages", "Gluon", "128 x 128 x 384, bf16, 4 stages")
def pipelined() -> Compared:
    a, b, c = normal((128, 384), 6, BF16), normal((128, 384), 7, BF16), np.zeros((128, 128), BF16)
    descriptors = descriptor(a, [128, 64]), descriptor(b, [128, 64]), descriptor(c, [128, 128])
    return close(run(pipelined_kernel, (1, 1), *descriptors, 384, STAGES=4), c, a, np.ascontiguousarray(b.T))


@gluon.jit
def load_part(a_desc, b_desc, a, b, full, empty, row, col, blocks, STAGES: gl.constexpr):
    BK: gl.constexpr = a_desc.block_type.shape[1]
    for i in range(blocks):
        stage = i % STAGES
        mbarrier.wait(empty.index(stage), ((i // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(stage), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [row, i * BK], full.index(stage), a.index(stage))
        tma.async_load(b_desc, [col, i * BK], full.index(stage), b.index(stage))


@gluon.jit
def multiply_part(a, b, acc, full, empty, done, blocks, STAGES: gl.constexpr):
    for i in range(blocks):
        stage = i % STAGES
        mbarrier.wait(full.index(stage), (i // STAGES) & 1)
        tcgen05_mma(a.index(stage), b.index(stage).permute((1, 0)), acc, use_acc=i > 0, mbarriers=[empty.index(stage)])
    tcgen05_commit(done)


@gluon.jit
def store_part(c_desc, acc, done, row, col):
    mbarrier.wait(done, 0)
    c = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c.store(acc.load().to(c_desc.dtype))
    gl.nvidia.hopper.fence_async_shared()
    tma.async_store(c_desc, [row, col], c)
    tma.store_wait(0)


@gluon.jit
def roles_kernel(a_desc, b_desc, c_desc, k, STAGES: gl.constexpr):
    """A warp loads, a warp multiplies, a warpgroup stores."""
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[0]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    row, col = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BN, BK], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    mbarrier.init(done, count=1)
    layout: gl.constexpr = TensorMemoryLayout((BM, BN), col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], layout)
    blocks = gl.cdiv(k, BK)
    gl.warp_specialize(
        [
            (store_part, (c_desc, acc, done, row, col)),
            (load_part, (a_desc, b_desc, a, b, full, empty, row, col, blocks, STAGES)),
            (multiply_part, (a, b, acc, full, empty, done, blocks, STAGES)),
        ],
        [1, 1],
        [48, 48],
    )


@case("tcgen05 matmul, roles of warps", "Gluon", "128 x 128 x 384, e4m3, 3 stages", gate=True)
def roles() -> Compared:
    a, b, c = normal((128, 384), 8, E4M3), normal((128, 384), 9, E4M3), np.zeros((128, 128), np.float16)
    descriptors = descriptor(a, [128, 128]), descriptor(b, [128, 128]), descriptor(c, [128, 128])
    return close(run(roles_kernel, (1, 1), *descriptors, 384, STAGES=3), c, a, np.ascontiguousarray(b.T))


@gluon.jit
def pair_kernel(a_desc, b_desc, c_desc, k):
    """Two CTAs multiply together."""
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[1]
    BK: gl.constexpr = a_desc.block_type.shape[1]
    row, col = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(a_desc.dtype, [BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [BK, BN], b_desc.layout)
    full = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    mbarrier.init(done, count=1)
    layout: gl.constexpr = TensorMemoryLayout((BM // 2, BN), col_stride=1, cga_layout=[[1, 0]], two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], layout)
    phase = 0
    for i in range(0, k, BK):
        mbarrier.expect(full, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [row, i], full, a)
        tma.async_load(b_desc, [i, col], full, b)
        mbarrier.wait(full, phase)
        tcgen05_mma(a, b, acc, use_acc=i > 0, multicast=True)
        tcgen05_commit(done, descs=[a, b])
        mbarrier.wait(done, phase)
        phase ^= 1
    mbarrier.invalidate(full)
    mbarrier.invalidate(done)
    c = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout)
    c.store(acc.load().to(c_desc.dtype))
    gl.nvidia.hopper.fence_async_shared()
    tma.async_store(c_desc, [row, col], c)
    tma.store_wait(0)


@case("tcgen05 matmul, two CTAs", "Gluon", "256 x 128 x 192, f16", gate=True)
def pair() -> Compared:
    a, b, c = normal((256, 192), 10, np.float16), normal((192, 128), 11, np.float16), np.zeros((256, 128), np.float16)
    descriptors = (
        descriptor(a, [256, 64], cga_layout=[[1, 0]]),
        descriptor(b, [64, 128], cga_layout=[[0, 1]]),
        descriptor(c, [256, 128], cga_layout=[[1, 0]]),
    )
    return close(run(pair_kernel, (1, 1), *descriptors, 192, num_ctas=2), c, a, b)
