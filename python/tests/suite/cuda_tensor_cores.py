"""CUDA C++ with inline PTX: tcgen05, TMA, mbarriers. The sources are those of fixtures/kernels."""

from __future__ import annotations

import pathlib

import ml_dtypes
import numpy as np

from ptx_tc import LaunchConfig, TensorMap, cuda, launch

from .case import Compared, case
from .triton_elementwise import normal
from .triton_gemm import close

SOURCES = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "kernels" / "src"
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def compiled(source: str, name: str, arch: str = "sm_100a"):
    return cuda.compile(SOURCES / source, arch=arch, options=["-std=c++20"], compiler="nvcc").get_kernel(name)


def gemm(source: str, name: str, a_type, b_type, d_type, n: int, *, pair: int = 1, sign: int = 1, arch: str = "sm_100a"):
    m = 128 if "pair_f16_128" in name else 128 * pair
    block = 128 // np.dtype(a_type).itemsize
    if a_type is np.int8:
        rng = np.random.default_rng(1)
        a, b = rng.integers(-128, 128, (m, 2 * block)).astype(np.int8), rng.integers(-128, 128, (n, 2 * block)).astype(np.int8)
    else:
        a, b = normal((m, 2 * block), 1, a_type), normal((n, 2 * block), 2, b_type)
    d = np.zeros((m, n), d_type)
    config = LaunchConfig(grid=1, cluster=pair if pair > 1 else None, shmem_size=230_000)
    run = launch(
        config,
        compiled(source, name, arch),
        TensorMap(a, box=(m // pair, block), swizzle="128B"),
        TensorMap(b, box=(n // pair, block), swizzle="128B"),
        *(d, m, n, 2),
    )
    if a_type is np.int8:
        wanted = a.astype(np.int64) @ b.astype(np.int64).T
        return Compared(run, d, wanted, model=wanted)
    made = close(run, d, a, np.ascontiguousarray(b.T))
    if sign < 0:
        made.reference, made.model = -made.reference, -made.model
    return made


@case("tcgen05 GEMM by TMA", "nvcc", "128 x 128 x 128, f16", gate=True)
def f16() -> Compared:
    return gemm("gemm_f16_tma.cu", "gemm_f16_128x128", np.float16, np.float16, np.float16, 128)


@case("tcgen05 GEMM by TMA", "nvcc", "128 x 64 x 128, bf16")
def bf16() -> Compared:
    return gemm("gemm_f16_tma.cu", "gemm_bf16_128x64", BF16, BF16, BF16, 64)


@case("tcgen05 GEMM by TMA, A negated", "nvcc", "128 x 32 x 128, bf16")
def negated() -> Compared:
    return gemm("gemm_f16_tma.cu", "gemm_bf16_negated_128x32", BF16, BF16, np.float32, 32, sign=-1)


@case("tcgen05 GEMM by TMA", "nvcc", "128 x 192 x 256, e5m2 x e4m3")
def fp8() -> Compared:
    made = gemm("gemm_fp8_tma.cu", "gemm_e5m2_e4m3_128x192", E5M2, E4M3, BF16, 192)
    return made


@case("tcgen05 GEMM by TMA", "nvcc", "128 x 128 x 256, s8", gate=True)
def int8() -> Compared:
    return gemm("gemm_i8_tma.cu", "gemm_s8_128x128", np.int8, np.int8, np.int32, 128)


@case("tcgen05 GEMM by TMA", "nvcc", "128 x 128 x 64, tf32")
def tf32() -> Compared:
    return gemm("gemm_tf32_tma.cu", "gemm_tf32_128x128", np.float32, np.float32, np.float32, 128, arch="sm_103a")


@case("tcgen05 GEMM of two CTAs", "nvcc", "256 x 64 x 64, tf32", gate=True)
def pair() -> Compared:
    name = "gemm_pair_tf32_256x64"
    return gemm("gemm_cta_pair.cu", name, np.float32, np.float32, np.float32, 64, pair=2)


@case("tcgen05 GEMM, no TMA", "nvcc", "128 x 128 x 128, f16")
def simple() -> Compared:
    a, b, c = normal((128, 128), 3, np.float16), normal((128, 128), 4, np.float16), np.zeros((128, 128), np.float32)
    gemm_simple = compiled("gemm_f16_simple.cu", "gemm_f16_simple_128x128")
    run = launch(LaunchConfig(grid=1, block=128), gemm_simple, a, b, c, 128, 128)
    return close(run, c, a, np.ascontiguousarray(b.T))
IM2COL = """
#include <cuda.h>
extern "C" __global__ void columns(const __grid_constant__ CUtensorMap map, unsigned short* out, int h, int w) {
  __shared__ alignas(1024) unsigned short tile[64 * 16];
  __shared__ alignas(8) unsigned long long bar;
  unsigned s = __cvta_generic_to_shared(tile), b = __cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(64 * 16 * 2));
    unsigned short r = 1, q = 2;
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(s), "l"(&map), "r"(0), "r"(w), "r"(h), "r"(0), "r"(b),
        "h"(q), "h"(r) : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" ::"r"(b) : "memory");
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) out[i] = tile[i];
}
"""


@case("im2col by TMA", "nvcc", "1 x 8 x 8 x 16, filter 3 x 3, f16", gate=True)
def im2col() -> Compared:
    x, out = normal((1, 8, 8, 16), 5, np.float16), np.zeros((64, 16), np.float16)
    columns = cuda.compile(IM2COL.replace("#include <cuda.h>", "struct alignas(64) CUtensorMap { char bytes[128]; };"), name="im2col.cu", compiler="nvcc").get_kernel("columns")
    # The filter's corner walks from one before the image to one before its end: a padding of 1.
    map = TensorMap.im2col(x, lower_corner=(-1, -1), upper_corner=(-1, -1), channels=16, pixels=64)
    run = launch(LaunchConfig(1, 64), columns, map, out, -1, -1)
    padded = np.pad(x[0], ((1, 1), (1, 1), (0, 0)))
    # The filter's place is row 1, column 2.
    wanted = padded[1:9, 2:10].reshape(64, 16)
    return Compared(run, out, wanted, model=np.ascontiguousarray(wanted))
