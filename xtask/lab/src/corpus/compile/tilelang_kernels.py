"""Kernels of ours in tilelang: it writes CUDA, which nvcc compiles with its templates."""

import os
import pathlib

import tilelang
import tilelang.language as T
from pretend import ARCH, case, nvcc
from tilelang.engine.lower import lower
from tvm.target import Target

HOME = pathlib.Path(tilelang.__file__).parent
OPTIONS = ["-O3", f"-I{HOME}/src", f"-I{HOME}/3rdparty/cutlass/include", "--expt-extended-lambda"]
TARGET = Target({"kind": "cuda", "arch": ARCH})


def build(name, make, *args, **configuration):
    with case(name):
        function = make(*args)
        with tilelang.transform.PassContext(opt_level=3, config=configuration), TARGET:
            source = lower(function, target=TARGET, enable_device_compile=False).kernel_source
        if os.environ.get("CORPUS_TRACE"):
            print(source)
        if "tcgen05" in source or "tmem" in source:
            nvcc(source, name, *OPTIONS)


def matmul(m, n, k, dtype, out, threads=128, stages=2, size=1024):
    @T.prim_func
    def kernel(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), out)):
        with T.Kernel(T.ceildiv(size, n), T.ceildiv(size, m), threads=threads) as (bx, by):
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared((n, k), dtype)
            acc = T.alloc_tmem([m, n], "float32")
            done = T.alloc_barrier(1)
            values = T.alloc_fragment((m, n), "float32")
            c = T.alloc_shared((m, n), out)
            for i in T.Pipelined(T.ceildiv(size, k), num_stages=stages):
                T.copy(A[by * m, i * k], a)
                T.copy(B[bx * n, i * k], b)
                T.tcgen05_gemm(a, b, acc, transpose_B=True, mbar=done, clear_accum=i == 0)
                T.mbarrier_wait_parity(done, i % 2)
            T.copy(acc, values)
            T.copy(values, c)
            T.copy(c, C[by * m, bx * n])

    return kernel


def chained(m, n, k, d, dtype, threads=128, is_softmax=False):
    """The first product is stored into tensor memory as the operand of the second."""

    @T.prim_func
    def kernel(A: T.Tensor((m, k), dtype), B: T.Tensor((n, k), dtype), V: T.Tensor((n, d), dtype), C: T.Tensor((m, d), dtype)):
        with T.Kernel(1, 1, threads=threads) as (bx, by):
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared((n, k), dtype)
            v = T.alloc_shared((n, d), dtype)
            scores = T.alloc_tmem([m, n], "float32")
            weights = T.alloc_tmem([m, n], dtype)
            out = T.alloc_tmem([m, d], "float32")
            first = T.alloc_barrier(1)
            second = T.alloc_barrier(1)
            values = T.alloc_fragment((m, n), "float32")
            narrow = T.alloc_fragment((m, n), dtype)
            largest = T.alloc_fragment((m,), "float32")
            total = T.alloc_fragment((m,), "float32")
            result = T.alloc_fragment((m, d), "float32")
            c = T.alloc_shared((m, d), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.tcgen05_gemm(a, b, scores, transpose_B=True, mbar=first, clear_accum=True)
            T.mbarrier_wait_parity(first, 0)
            T.copy(scores, values)
            if is_softmax:
                T.reduce_max(values, largest, dim=1)
                for i, j in T.Parallel(m, n):
                    values[i, j] = T.exp2(values[i, j] - largest[i])
                T.reduce_sum(values, total, dim=1)
                for i, j in T.Parallel(m, n):
                    values[i, j] = values[i, j] / total[i]
            T.copy(values, narrow)
            T.copy(narrow, weights)
            T.copy(V, v)
            T.tcgen05_gemm(weights, v, out, mbar=second, clear_accum=True)
            T.mbarrier_wait_parity(second, 0)
            T.copy(out, result)
            T.copy(result, c)
            T.copy(c, C)

    return kernel


def specialized(m, n, k, dtype, out, stages, accumulators, width=64, size=4096, blocks=148):
    """Persistent: one warp loads, one multiplies, four store."""
    columns = size // n
    tiles = size // m * columns
    steps = size // k

    @T.prim_func
    def kernel(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), out)):
        with T.Kernel(blocks, threads=256) as block:
            a = T.alloc_shared((stages, m, k), dtype)
            b = T.alloc_shared((stages, k, n), dtype)
            one = T.alloc_tmem([m, n], "float32")
            other = T.alloc_tmem([m, n], "float32")
            values = T.alloc_fragment((m, n), "float32")
            c = T.alloc_shared((m, width), out)
            loaded = T.alloc_barrier([32] * stages)
            consumed = T.alloc_barrier([1] * stages)
            full = T.alloc_barrier([1] * 2)
            empty = T.alloc_barrier([128] * 2)
            tx = T.get_thread_binding()
            if tx < 32:
                for w in T.unroll(T.ceildiv(tiles, blocks)):
                    tile = blocks * w + block
                    if tile < tiles:
                        for i in T.serial(steps):
                            at = w * steps + i
                            T.mbarrier_wait_parity(consumed[at % stages], ((at // stages) & 1) ^ 1)
                            T.tma_copy(A[tile // columns * m : (tile // columns + 1) * m, i * k : (i + 1) * k], a[at % stages, :, :], barrier=loaded[at % stages])
                            T.tma_copy(B[i * k : (i + 1) * k, tile % columns * n : (tile % columns + 1) * n], b[at % stages, :, :], barrier=loaded[at % stages])
                            T.mbarrier_arrive(loaded[at % stages])
            elif tx < 64:
                for w in T.unroll(T.ceildiv(tiles, blocks)):
                    if blocks * w + block < tiles:
                        T.mbarrier_wait_parity(empty[w % accumulators], ((w // accumulators) & 1) ^ 1)
                        for i in T.serial(steps):
                            at = w * steps + i
                            T.mbarrier_wait_parity(loaded[at % stages], (at // stages) & 1)
                            if w % accumulators == 0:
                                T.tcgen05_gemm(a[at % stages, :, :], b[at % stages, :, :], one, mbar=consumed[at % stages], clear_accum=i == 0)
                            else:
                                T.tcgen05_gemm(a[at % stages, :, :], b[at % stages, :, :], other, mbar=consumed[at % stages], clear_accum=i == 0)
                        T.tcgen05_mma_arrive(full[w % accumulators])
            elif tx >= 128:
                for w in T.unroll(T.ceildiv(tiles, blocks)):
                    tile = blocks * w + block
                    if tile < tiles:
                        T.mbarrier_wait_parity(full[w % accumulators], (w // accumulators) & 1)
                        if w % accumulators == 0:
                            T.copy(one, values)
                        else:
                            T.copy(other, values)
                        T.mbarrier_arrive(empty[w % accumulators])
                        for i in T.unroll(n // width):
                            T.copy(values[:, i * width : (i + 1) * width], c)
                            T.copy(c, C[tile // columns * m, tile % columns * n + i * width])

    return kernel


def pair(m, n, k, dtype, out, stages, size=4096):
    """A pair of CTAs multiplies."""
    steps = size // k

    @T.prim_func
    def kernel(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), out)):
        with T.Kernel(size // m, size // n, threads=256, cluster_dims=2) as (bx, by):
            a = T.alloc_shared((stages, m, k), dtype)
            b = T.alloc_shared((stages, k, n // 2), dtype)
            acc = T.alloc_tmem([m, n], "float32")
            values = T.alloc_fragment((m, n), "float32")
            c = T.alloc_shared((m, n), out)
            loaded = T.alloc_cluster_barrier([64] * stages)
            consumed = T.alloc_cluster_barrier([1] * stages)
            full = T.alloc_cluster_barrier([1])
            tx = T.get_thread_binding()
            rank = T.block_rank_in_cluster()
            T.assume(rank < 2)
            if tx < 32:
                for i in T.serial(steps):
                    T.mbarrier_wait_parity(consumed[i % stages], ((i // stages) & 1) ^ 1)
                    T.tma_copy(A[bx * m : (bx + 1) * m, i * k : (i + 1) * k], a[i % stages, :, :], barrier=loaded[i % stages])
                    T.tma_copy(B[i * k : (i + 1) * k, (by * 2 + rank) * (n // 2) : (by * 2 + rank + 1) * (n // 2)], b[i % stages, :, :], barrier=loaded[i % stages])
                    T.mbarrier_arrive(loaded[i % stages], 0)
            elif tx < 64 and rank == 0:
                for i in T.serial(steps):
                    T.mbarrier_wait_parity(loaded[i % stages], (i // stages) & 1)
                    T.tcgen05_gemm(a[i % stages, :, :], b[i % stages, :, :], acc, mbar=consumed[i % stages], clear_accum=i == 0, use_2cta=True)
                T.tcgen05_mma_arrive(full, arrive_2cta=True)
            elif tx >= 128:
                T.mbarrier_wait_parity(full, 0)
                T.copy(acc, values)
                T.copy(values, c)
                T.copy(c, C[bx * m, by * n])

    return kernel


def scaled(m, n, k, dtype, stages, size=1024):
    """Scale factors are copied into tensor memory."""
    steps = size // k
    period = 4

    @T.prim_func
    def kernel(
        A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), SA: T.Tensor((size, size // 128), "uint8"),
        SB: T.Tensor((size, size // 128), "uint8"), C: T.Tensor((size, size), "bfloat16"),
    ):  # fmt: skip
        with T.Kernel(size // m, size // n, threads=128) as (bx, by):
            a = T.alloc_shared((stages, m, k), dtype)
            b = T.alloc_shared((stages, k, n), dtype)
            sa = T.alloc_shared((stages, m, 4), "uint8")
            sb = T.alloc_shared((stages, n, 4), "uint8")
            acc = T.alloc_tmem([m, n], "float32")
            factors_a = T.alloc_tmem([m, m // 128 * 4], "uint8")
            factors_b = T.alloc_tmem([m, n // 128 * 4], "uint8")
            values = T.alloc_fragment((m, n), "float32")
            c = T.alloc_shared((m, n), "bfloat16")
            loaded = T.alloc_barrier([32] * stages)
            consumed = T.alloc_barrier([1] * stages)
            full = T.alloc_barrier([1])
            tx = T.get_thread_binding()
            if tx < 32:
                for i in T.serial(steps):
                    T.mbarrier_wait_parity(consumed[i % stages], ((i // stages) & 1) ^ 1)
                    T.tma_copy(A[bx * m : (bx + 1) * m, i * k : (i + 1) * k], a[i % stages, :, :], barrier=loaded[i % stages])
                    T.tma_copy(B[i * k : (i + 1) * k, by * n : (by + 1) * n], b[i % stages, :, :], barrier=loaded[i % stages])
                    if i % period == 0:
                        T.copy(SA[bx * m : (bx + 1) * m, i // period * 4 : (i // period + 1) * 4], sa[i % stages, :, :])
                        T.copy(SB[by * n : (by + 1) * n, i // period * 4 : (i // period + 1) * 4], sb[i % stages, :, :])
                    T.mbarrier_arrive(loaded[i % stages])
            elif tx < 64:
                for i in T.serial(steps):
                    T.mbarrier_wait_parity(loaded[i % stages], (i // stages) & 1)
                    if i % period == 0:
                        T.tcgen05_sf_warp_transpose(sa[i % stages, :, :])
                        T.tcgen05_sf_warp_transpose(sb[i % stages, :, :])
                        T.fence_proxy_async()
                        T.tcgen05_cp_warpx4(sa[i % stages, :, :], factors_a)
                        T.tcgen05_cp_warpx4(sb[i % stages, :, :], factors_b)
                    T.sync_warp()
                    T.tcgen05_gemm_blockscaled(
                        a[i % stages, :, :], b[i % stages, :, :], acc, factors_a, factors_b, mbar=consumed[i % stages], clear_accum=i == 0,
                        k_start=i * k, sf_a_granularity_k=128, sf_b_granularity_k=128,
                    )  # fmt: skip
                T.tcgen05_mma_arrive(full)
            T.mbarrier_wait_parity(full, 0)
            T.sync_threads()
            T.copy(acc, values)
            T.copy(values, c)
            T.copy(c, C[bx * m, by * n])

    return kernel


def automatic(m, n, k, dtype, stages, threads=256, size=1024):
    """Which warps do what, and where the accumulators lie, is for the compiler to find."""

    @T.prim_func
    def kernel(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, n), T.ceildiv(size, m), threads=threads) as (bx, by):
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared((k, n), dtype)
            acc = T.alloc_tmem([m, n], "float32")
            done = T.alloc_barrier(1)
            values = T.alloc_fragment((m, n), "float32")
            for i in T.Pipelined(T.ceildiv(size, k), num_stages=stages):
                T.copy(A[by * m, i * k], a)
                T.copy(B[i * k, bx * n], b)
                T.gemm(a, b, acc, mbar=done, clear_accum=i == 0)
            T.copy(acc, values)
            T.copy(values, C[by * m, bx * n])

    return kernel


BRAIN, HALF, EIGHT = "bfloat16", "float16", "float8_e4m3fn"
NO_TMA = {tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True, tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True}

for dtype, m, n, k, threads in ((BRAIN, 128, 128, 64, 128), (HALF, 128, 256, 64, 256), (EIGHT, 128, 64, 128, 128), (BRAIN, 64, 128, 64, 128)):
    for configuration in ({}, NO_TMA):
        build(f"matmul_{dtype}_{m}_{n}_{threads}_{len(configuration)}", matmul, m, n, k, dtype, BRAIN, threads, **configuration)
    build(f"automatic_{dtype}_{m}_{n}_{threads}", automatic, m, n, k, dtype if dtype != EIGHT else HALF, 3, max(threads, 128))
for softmax in (False, True):
    for n, d, threads in ((128, 128, 128), (64, 128, 128), (128, 64, 256)):
        build(f"chained_{softmax}_{n}_{d}_{threads}", chained, 128, n, 128, d, BRAIN, threads, softmax, **NO_TMA)
for dtype, n, stages, accumulators in ((BRAIN, 256, 4, 2), (BRAIN, 128, 6, 1), (EIGHT, 128, 4, 2), (HALF, 64, 4, 2)):
    build(f"specialized_{dtype}_{n}_{accumulators}", specialized, 128, n, 64, dtype, BRAIN, stages, accumulators)
for n, stages in ((256, 4), (128, 4)):
    build(f"pair_{n}", pair, 128, n, 64, BRAIN, BRAIN, stages)
for n in (128, 256):
    build(f"scaled_{n}", scaled, 128, n, 128, EIGHT, 4)
