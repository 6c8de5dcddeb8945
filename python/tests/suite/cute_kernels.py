"""CuTe DSL: layouts, copies, and the tensor core. It reads annotations: they are no strings here."""

import cutlass
import cutlass.cute as cute
import cutlass.utils as utils
import cutlass.utils.blackwell_helpers as blackwell
import numpy as np
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import make_fake_compact_tensor

import ptx_tc
from ptx_tc import LaunchConfig, Struct, TensorMap, launch

from .case import Compared, case
from .model import fused
from .triton_elementwise import normal


def fake(dtype, shape, order=None, align: int = 16):
    return make_fake_compact_tensor(dtype, shape, stride_order=order, assumed_align=align)


def only_kernel(host, *args):
    code = ptx_tc.cute.compile(host, *args)
    return code.get_kernel(code.kernels[0])


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, tv: cute.Layout, tile: cute.Shape):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    part = ((None, None), b)
    mine = [cute.composition(it[part], tv)[(t, None)] for it in (x, y, z)]
    mine[2].store(mine[0].load() + mine[1].load())


@cute.jit
def add_host(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((4, 4), order=(1, 0))
    tile, tv = cute.make_layout_tv(threads, values)
    parts = [cute.zipped_divide(it, tile) for it in (x, y, z)]
    add_kernel(parts[0], parts[1], parts[2], tv, tile).launch(
        grid=[cute.size(parts[2], mode=[1]), 1, 1], block=[cute.size(tv, mode=[0]), 1, 1]
    )


@case("elementwise add, layouts of threads and values", "CuTe DSL", "32 x 256, f32", gate=True)
def add() -> Compared:
    of = fake(cutlass.Float32, (32, 256), (1, 0))
    kernel = only_kernel(add_host, of, of, of)
    x, y = normal((32, 256), 1), normal((32, 256), 2)
    z = np.zeros_like(x)
    return Compared(launch(LaunchConfig(4, 128), kernel, x, y, z), z, x + y, model=x + y)


@cute.kernel
def sums_kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator()
    parts = smem.allocate_tensor(cutlass.Float32, cute.make_layout(4), byte_alignment=16)
    total = cutlass.Float32(0)
    for i in cutlass.range(t, cute.size(x, mode=[1]), 128):
        total += x[b, i]
    total = cute.arch.warp_reduction_sum(total)
    if t % 32 == 0:
        parts[t // 32] = total
    cute.arch.sync_threads()
    if t == 0:
        y[b] = parts[0] + parts[1] + parts[2] + parts[3]


@cute.jit
def sums_host(x: cute.Tensor, y: cute.Tensor):
    sums_kernel(x, y).launch(grid=[cute.size(x, mode=[0]), 1, 1], block=[128, 1, 1])


@case("sums of rows: warps, shared memory", "CuTe DSL", "6 x 500, f32", gate=True)
def sums() -> Compared:
    kernel = only_kernel(sums_host, fake(cutlass.Float32, (6, 500), (1, 0)), fake(cutlass.Float32, (6,)))
    x, y = np.random.default_rng(3).integers(-9, 10, (6, 500)).astype(np.float32), np.zeros(6, np.float32)
    return Compared(launch(LaunchConfig(6, 128, shmem_size=64), kernel, x, y), y, x.sum(1), model=x.sum(1))


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float16, cute.make_layout((32, 32), stride=(33, 1)), byte_alignment=16)
    for j in cutlass.range_constexpr(4):
        tile[ty + 8 * j, tx] = x[by * 32 + ty + 8 * j, bx * 32 + tx]
    cute.arch.sync_threads()
    for j in cutlass.range_constexpr(4):
        y[bx * 32 + ty + 8 * j, by * 32 + tx] = tile[tx, ty + 8 * j]


@cute.jit
def transpose_host(x: cute.Tensor, y: cute.Tensor):
    transpose_kernel(x, y).launch(grid=[3, 2, 1], block=[32, 8, 1])


@case("transpose through shared memory", "CuTe DSL", "64 x 96, f16")
def transpose() -> Compared:
    f16 = cutlass.Float16
    kernel = only_kernel(transpose_host, fake(f16, (64, 96), (1, 0)), fake(f16, (96, 64), (1, 0)))
    x, y = normal((64, 96), 4, np.float16), np.zeros((96, 64), np.float16)
    launched = launch(LaunchConfig((3, 2), (32, 8), shmem_size=4096), kernel, x, y)
    return Compared(launched, y, x.T, model=np.ascontiguousarray(x.T))


@cute.kernel
def gemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, column = by * 16 + ty, bx * 16 + tx
    if row < cute.size(c, mode=[0]) and column < cute.size(c, mode=[1]):
        total = cutlass.Float32(0)
        for k in cutlass.range(cute.size(a, mode=[1])):
            total += a[row, k] * b[column, k]
        c[row, column] = total


@cute.jit
def gemm_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32):
    gemm_kernel(a, b, c).launch(grid=[(n + 15) // 16, (m + 15) // 16, 1], block=[16, 16, 1])


@case("GEMM without tensor cores, shapes of the launch", "CuTe DSL", "20 x 30 x 24, f32")
def gemm() -> Compared:
    f32, m, n, k = cutlass.Float32, 20, 30, 24

    def of():
        return fake(f32, (cute.sym_int(), cute.sym_int()), (1, 0), 4)

    kernel = only_kernel(gemm_host, of(), of(), of(), cutlass.Int32(0), cutlass.Int32(0))
    a, b, c = normal((m, k), 5), normal((n, k), 6), np.zeros((m, n), np.float32)
    # A tensor is its address, its extents, and the strides that are not known: that of rows.
    tensors = [
        Struct(it, *(np.int32(size) for size in it.shape), np.int64(it.shape[1])) for it in (a, b, c)
    ]
    launched = launch(LaunchConfig((2, 2), (16, 16)), kernel, *tensors)
    return Compared(launched, c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-5)


TILE = (128, 64, 64)


@cute.struct
class Storage:
    full: cute.struct.MemRange[cutlass.Int64, 1]
    done: cute.struct.MemRange[cutlass.Int64, 1]
    columns: cutlass.Int32


@cute.kernel
def tcgen05_kernel(
    mma: cute.TiledMma,
    load_a: cute.CopyAtom,
    a: cute.Tensor,
    load_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
):
    """One stage: warp 0 loads, multiplies and waits, block after block."""
    t, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    w = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    storage = smem.allocate(Storage)
    tile_a = smem.allocate_tensor(cutlass.Float16, layout_a.outer, byte_alignment=128, swizzle=layout_a.inner)
    tile_b = smem.allocate_tensor(cutlass.Float16, layout_b.outer, byte_alignment=128, swizzle=layout_b.inner)
    full, done = storage.full.data_ptr(), storage.done.data_ptr()
    if w == 0:
        cute.arch.alloc_tmem(64, storage.columns)
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(full, 1)
            cute.arch.mbarrier_init(done, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    at = (bx, by, None)
    one = mma.get_slice(0)
    of_a = one.partition_A(cute.local_tile(a, TILE, at, proj=(1, None, 1)))
    of_b = one.partition_B(cute.local_tile(b, TILE, at, proj=(None, 1, 1)))
    of_c = one.partition_C(cute.local_tile(c, TILE, at, proj=(1, 1, None)))
    to_a, from_a = cpasync.tma_partition(
        load_a, 0, cute.make_layout(1), cute.group_modes(tile_a, 0, 3), cute.group_modes(of_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        load_b, 0, cute.make_layout(1), cute.group_modes(tile_b, 0, 3), cute.group_modes(of_b, 0, 3)
    )
    in_a, in_b = mma.make_fragment_A(tile_a), mma.make_fragment_B(tile_b)
    shape = mma.make_fragment_C(mma.partition_shape_C(TILE[:2]))
    columns = cute.arch.retrieve_tmem_ptr(cutlass.Float32, alignment=16, ptr_to_buffer_holding_addr=storage.columns)
    acc = cute.make_tensor(columns, shape.layout)
    size = cute.size_in_bytes(cutlass.Float16, cute.select(layout_a, mode=[0, 1, 2]))
    size += cute.size_in_bytes(cutlass.Float16, cute.select(layout_b, mode=[0, 1, 2]))
    phase = cutlass.Int32(0)
    mma.set(tcgen05.Field.ACCUMULATE, False)
    for block in cutlass.range(cute.size(of_a, mode=[3]), unroll=1):
        if w == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, size)
            cute.copy(load_a, from_a[(None, block)], to_a[(None, 0)], tma_bar_ptr=full)
            cute.copy(load_b, from_b[(None, block)], to_b[(None, 0)], tma_bar_ptr=full)
            cute.arch.mbarrier_wait(full, phase)
            for k in cutlass.range_constexpr(cute.size(in_a, mode=[2])):
                cute.gemm(mma, acc, in_a[(None, None, k, 0)], in_b[(None, None, k, 0)], acc)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            with cute.arch.elect_one():
                tcgen05.commit(done)
        cute.arch.mbarrier_wait(done, phase)
        # Nobody may miss a phase.
        cute.arch.sync_threads()
        phase ^= 1
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    copy = tcgen05.make_tmem_copy(atom, acc)
    mine = copy.get_slice(t)
    source, target = mine.partition_S(acc), mine.partition_D(of_c)
    loaded = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(copy, source, loaded)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded, target)
    cute.arch.sync_threads()
    if w == 0:
        cute.arch.relinquish_tmem_alloc_permit()
        cute.arch.dealloc_tmem(columns, 64)


@cute.jit
def tcgen05_host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (128, 64, 16),
        tcgen05.CtaGroup.ONE,
        tcgen05.OperandSource.SMEM,
        tcgen05.OperandMajorMode.K,
        tcgen05.OperandMajorMode.K,
    )
    mma = cute.make_tiled_mma(op)
    layout_a = blackwell.make_smem_layout_a(mma, TILE, cutlass.Float16, 1)
    layout_b = blackwell.make_smem_layout_b(mma, TILE, cutlass.Float16, 1)
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    first = [cute.select(it, mode=[0, 1, 2]) for it in (layout_a, layout_b)]
    load_a, tensor_a = cute.nvgpu.make_tiled_tma_atom_A(load, a, first[0], TILE, mma)
    load_b, tensor_b = cute.nvgpu.make_tiled_tma_atom_B(load, b, first[1], TILE, mma)
    tcgen05_kernel(mma, load_a, tensor_a, load_b, tensor_b, c, layout_a, layout_b).launch(
        grid=[2, 2, 1], block=[128, 1, 1]
    )


@case("tcgen05 GEMM by TMA", "CuTe DSL", "256 x 128 x 192, f16", gate=True)
def tcgen05_gemm() -> Compared:
    m, n, k = 256, 128, 192
    f16 = cutlass.Float16
    kernel = only_kernel(
        tcgen05_host, fake(f16, (m, k), (1, 0)), fake(f16, (n, k), (1, 0)), fake(cutlass.Float32, (m, n), (1, 0))
    )
    a, b, c = normal((m, k), 7, np.float16), normal((n, k), 8, np.float16), np.zeros((m, n), np.float32)
    maps = TensorMap(a, (128, 64), "128B"), TensorMap(b, (64, 64), "128B")
    # What the multiply accumulates and negates is in a parameter of its own: nothing of it.
    launched = launch(LaunchConfig((2, 2), 128, shmem_size=100_000), kernel, bytes(32), *maps, c)
    model = fused(a, np.ascontiguousarray(b.T))
    return Compared(launched, c, a.astype(np.float64) @ b.astype(np.float64).T, atol=2e-4, model=model)
