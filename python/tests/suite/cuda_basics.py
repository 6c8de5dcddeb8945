"""CUDA C++: what programs are made of."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ptx_tc import LaunchConfig, cuda, launch

from .case import Compared, case
from .model import fused
from .triton_elementwise import normal

COMPILER = "nvcc" if cuda.find_nvcc() else "nvrtc"


def kernel(source: str, name: str, compiler: str = COMPILER, options: tuple[str, ...] = ()):
    return cuda.compile(source, compiler=compiler, name="kernel.cu", options=options).get_kernel(name)


TRANSPOSE = """
extern "C" __global__ void transpose(const float* in, float* out, int w, int h) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
"""


@case("transpose through shared memory", "nvcc", "70 x 50", gate=True)
def transpose() -> Compared:
    x, y = normal((50, 70), 1), np.zeros((70, 50), np.float32)
    launched = launch(LaunchConfig((3, 2), (32, 8)), kernel(TRANSPOSE, "transpose"), x, y, 70, 50)
    return Compared(launched, y, x.T, model=np.ascontiguousarray(x.T))


SGEMM = """
template <int TILE, typename T>
__device__ void gemm(const T* a, const T* b, T* c, int m, int n, int k) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* as = reinterpret_cast<T*>(raw);
  T* bs = as + TILE * TILE;
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int kk = t * TILE;
    as[threadIdx.y * TILE + threadIdx.x] = row < m && kk + threadIdx.x < k ? a[row * k + kk + threadIdx.x] : T(0);
    bs[threadIdx.y * TILE + threadIdx.x] = col < n && kk + threadIdx.y < k ? b[(kk + threadIdx.y) * n + col] : T(0);
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum = fma(as[threadIdx.y * TILE + i], bs[i * TILE + threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
template <int TILE, typename T>
__global__ void gemm_kernel(const T* a, const T* b, T* c, int m, int n, int k) { gemm<TILE>(a, b, c, m, n, k); }
template __global__ void gemm_kernel<16, float>(const float*, const float*, float*, int, int, int);
template __global__ void gemm_kernel<8, double>(const double*, const double*, double*, int, int, int);
"""


def multiply_adds(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One fused multiply-add after the other: in f32, double precision rounds each of them once."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        # A product of two singles is exact in double precision; the sum with a single is not always.
        sums = (a[:, k : k + 1].astype(np.longdouble) * b[k].astype(np.longdouble) + sums).astype(np.float32)
    return sums


@case("GEMM of a template, dynamic shared memory", "nvcc", "40 x 30 x 50, f32", gate=True)
def sgemm() -> Compared:
    a, b, c = normal((40, 50), 2), normal((50, 30), 3), np.zeros((40, 30), np.float32)
    config = LaunchConfig((2, 3), (16, 16), shmem_size=2 * 16 * 16 * 4)
    launched = launch(config, kernel(SGEMM, "gemm_kernel<16, float>"), a, b, c, 40, 30, 50)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return Compared(launched, c, wanted, atol=1e-5, model=multiply_adds(a, b))


@case("GEMM of a template, dynamic shared memory", "nvcc", "20 x 17 x 30, f64")
def dgemm() -> Compared:
    a, b, c = normal((20, 30), 4, np.float64), normal((30, 17), 5, np.float64), np.zeros((20, 17))
    config = LaunchConfig((3, 3), (8, 8), shmem_size=2 * 8 * 8 * 8)
    launched = launch(config, kernel(SGEMM, "gemm_kernel<8, double>"), a, b, c, 20, 17, 30)
    return Compared(launched, c, a @ b, atol=1e-13)


REDUCE = """
extern "C" __global__ void reduce(const int* x, int* out, int n) {
  __shared__ int parts[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}
"""


@case("sum by shuffles and atomics", "nvcc", "5000 in 4 blocks", gate=True)
def reduce() -> Compared:
    x, out = np.random.default_rng(6).integers(-99, 100, 5000).astype(np.int32), np.zeros(1, np.int32)
    launched = launch(LaunchConfig(4, 128), kernel(REDUCE, "reduce"), x, out, 5000)
    return Compared(launched, out, [x.sum()], model=[x.sum()])


SCAN = """
extern "C" __global__ void scan(const unsigned* in, unsigned* out, int n) {
  extern __shared__ unsigned temp[];
  int t = threadIdx.x, offset = 1;
  temp[2 * t] = in[2 * t]; temp[2 * t + 1] = in[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) temp[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
      unsigned x = temp[ai]; temp[ai] = temp[bi]; temp[bi] += x;
    }
  }
  __syncthreads();
  out[2 * t] = temp[2 * t]; out[2 * t + 1] = temp[2 * t + 1];
}
"""


@case("exclusive scan (Blelloch)", "nvcc", "512")
def scan() -> Compared:
    x, out = np.random.default_rng(7).integers(0, 100, 512).astype(np.uint32), np.zeros(512, np.uint32)
    launched = launch(LaunchConfig(1, 256, shmem_size=2048), kernel(SCAN, "scan"), x, out, 512)
    wanted = np.concatenate([[0], np.cumsum(x)[:-1]])
    return Compared(launched, out, wanted, model=wanted)


HISTOGRAM = """
extern "C" __global__ void histogram(const unsigned char* x, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (bins[i]) atomicAdd(&out[i], bins[i]);
}
"""


@case("histogram in shared memory", "nvcc", "4000 bytes", gate=True)
def histogram() -> Compared:
    x, out = np.random.default_rng(8).integers(0, 256, 4000).astype(np.uint8), np.zeros(256, np.uint32)
    launched = launch(LaunchConfig(3, 128), kernel(HISTOGRAM, "histogram"), x, out, 4000)
    wanted = np.bincount(x, minlength=256)
    return Compared(launched, out, wanted, model=wanted)


STENCIL = """
__constant__ float weights[5] = {-1.f / 12, 4.f / 3, -5.f / 2, 4.f / 3, -1.f / 12};
extern "C" __global__ void stencil(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float s[128 + 4];
  int g = blockIdx.x * 128 + threadIdx.x, l = threadIdx.x + 2;
  s[l] = g < n ? in[g] : 0;
  if (threadIdx.x < 2) {
    s[l - 2] = g >= 2 ? in[g - 2] : 0;
    s[l + 128] = g + 128 < n ? in[g + 128] : 0;
  }
  __syncthreads();
  float r = 0;
  #pragma unroll
  for (int i = 0; i < 5; ++i) r += weights[i] * s[l + i - 2];
  if (g < n) out[g] = r;
}
"""


@case("stencil, weights in __constant__ memory", "nvcc", "500", gate=True)
def stencil() -> Compared:
    x, out = normal(500, 9), np.zeros(500, np.float32)
    launched = launch(LaunchConfig(4, 128), kernel(STENCIL, "stencil"), x, out, 500)
    padded = np.pad(x.astype(np.float64), 2)
    weights = np.array([-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12])
    wanted = sum(weights[i] * padded[i : i + 500] for i in range(5))
    return Compared(launched, out, wanted, atol=2e-6)


STRUCTS = """
struct Range { int first, count; };
struct Params { float* out; const float* in; Range part; double scale; short flags[3]; };
extern "C" __global__ void with_struct(const __grid_constant__ Params p, int4 extra) {
  int i = threadIdx.x;
  if (i < p.part.count)
    p.out[p.part.first + i] = float(p.in[p.part.first + i] * p.scale) + p.flags[i % 3] + extra.w;
}
"""


@case("struct parameters, __grid_constant__", "nvcc", "40", gate=True)
def structs() -> Compared:
    from ptx_tc import Struct

    x, out = normal(64, 10), np.zeros(64, np.float32)
    flags = np.array([3, -2, 7], np.int16)
    struct = Struct(out, x, np.int32(5), np.int32(40), np.float64(1.5), flags.tobytes())
    extra = Struct(*(np.int32(it) for it in (0, 0, 0, 100)))
    launched = launch(LaunchConfig(1, 64), kernel(STRUCTS, "with_struct"), struct, extra)
    wanted = np.zeros(64, np.float32)
    scaled = (x[5:45].astype(np.float64) * 1.5).astype(np.float32)
    wanted[5:45] = scaled + flags[np.arange(40) % 3].astype(np.float32) + np.float32(100)
    return Compared(launched, out, wanted, atol=1e-5)


CP_ASYNC = """
#include <cuda_pipeline.h>
extern "C" __global__ void sums(const float4* x, float4* out, int blocks) {
  __shared__ float4 ring[2][64];
  __pipeline_memcpy_async(&ring[0][threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  float4 sum = {0, 0, 0, 0};
  for (int i = 0; i < blocks; ++i) {
    if (i + 1 < blocks) __pipeline_memcpy_async(&ring[(i + 1) % 2][threadIdx.x], &x[(i + 1) * 64 + threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = ring[i % 2][63 - threadIdx.x];
    sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
"""


@case("pipeline of cp.async", "nvcc", "8 x 64 of float4")
def cp_async() -> Compared:
    x, out = np.random.default_rng(11).integers(-9, 10, (8, 64, 4)).astype(np.float32), np.zeros((64, 4), np.float32)
    launched = launch(LaunchConfig(1, 64), kernel(CP_ASYNC, "sums"), x, out, 8)
    wanted = x.sum(0)[::-1]
    return Compared(launched, out, wanted, model=np.ascontiguousarray(wanted))


HALF = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void convert(const float* x, __half2* h, __nv_bfloat162* b, __nv_fp8_e4m3* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= n) return;
  __half2 v = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
  h[i] = __hfma2(v, v, __float2half2_rn(1.f));
  b[i] = __hmul2(__floats2bfloat162_rn(x[2 * i], x[2 * i + 1]), __float2bfloat162_rn(3.f));
  f[2 * i] = __nv_fp8_e4m3(x[2 * i]);
  f[2 * i + 1] = __nv_fp8_e4m3(x[2 * i + 1]);
}
"""


@case("halves, bf16 and e4m3 by the headers of CUDA", "nvcc", "256", gate=True)
def half() -> Compared:
    x = normal(256, 12) * 4
    h, b = np.zeros(256, np.float16), np.zeros(256, ml_dtypes.bfloat16)
    f = np.zeros(256, ml_dtypes.float8_e4m3fn)
    launched = launch(LaunchConfig(1, 128), kernel(HALF, "convert"), x, h, b, f, 256)
    of_f16 = x.astype(np.float16).astype(np.float64)
    np.testing.assert_array_equal(h, (of_f16 * of_f16 + 1).astype(np.float16))
    of_bf16 = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(b.view(np.uint16), (of_bf16 * 3).astype(ml_dtypes.bfloat16).view(np.uint16))
    return Compared(launched, f, x.astype(ml_dtypes.float8_e4m3fn), model=x.astype(ml_dtypes.float8_e4m3fn))


WMMA = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void gemm(const half* a, const half* b, float* c, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  int row = blockIdx.y * 16, col = (blockIdx.x * 2 + threadIdx.x / 32) * 16;
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + i * n + col, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}
"""


@case("GEMM by nvcuda::wmma", "nvcc", "32 x 64 x 48, f16", gate=True)
def wmma() -> Compared:
    a, b = normal((32, 48), 13, np.float16), normal((48, 64), 14, np.float16)
    c = np.zeros((32, 64), np.float32)
    launched = launch(LaunchConfig((2, 2), 64), kernel(WMMA, "gemm"), a, b, c, 64, 48)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return Compared(launched, c, wanted, atol=1e-5, model=fused(a, b))


MERGE = """
extern "C" __global__ void bitonic(unsigned long long* keys, int n) {
  extern __shared__ unsigned long long s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = keys[i];
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int other = i ^ j;
        if (other > i) {
          bool up = (i & k) == 0;
          if ((s[i] > s[other]) == up) { auto t = s[i]; s[i] = s[other]; s[other] = t; }
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = s[i];
}
"""


@case("bitonic sort of 64-bit keys", "nvcc", "512")
def bitonic() -> Compared:
    x = np.random.default_rng(15).integers(0, 2**63, 512, np.uint64)
    wanted = np.sort(x)
    launched = launch(LaunchConfig(1, 128, shmem_size=4096), kernel(MERGE, "bitonic"), x, 512)
    assert (x == wanted).all()
    return Compared(launched, x, wanted, model=wanted)


NBODY = """
extern "C" __global__ void forces(const float4* body, float3* force, int n) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 own = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 f = make_float3(0, 0, 0);
  for (int start = 0; start < n; start += 64) {
    tile[threadIdx.x] = start + threadIdx.x < n ? body[start + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int j = 0; j < 64; ++j) {
      float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
      float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = tile[j].w * inv * inv * inv;
      f.x += dx * s; f.y += dy * s; f.z += dz * s;
    }
    __syncthreads();
  }
  if (i < n) force[i] = f;
}
"""


@case("forces of n bodies", "nvcc", "100")
def nbody() -> Compared:
    body = np.random.default_rng(16).uniform(0.1, 1, (100, 4)).astype(np.float32)
    force = np.zeros((100, 3), np.float32)
    launched = launch(LaunchConfig(2, 64), kernel(NBODY, "forces"), body, force, 100)
    p, w = body[:, :3].astype(np.float64), body[:, 3].astype(np.float64)
    d = p[None] - p[:, None]
    wanted = (d * (w[None] / ((d**2).sum(2) + 0.01) ** 1.5)[:, :, None]).sum(1)
    return Compared(launched, force, wanted, rtol=2e-5, atol=2e-4)


@case("vector add by NVRTC", "NVRTC", "300", gate=True)
def by_nvrtc() -> Compared:
    source = """
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) z[i] = x[i] + y[i];
}
"""
    x, y, z = normal(300, 17), normal(300, 18), np.zeros(300, np.float32)
    launched = launch(LaunchConfig(2, 64), kernel(source, "add", "nvrtc"), x, y, z, 300)
    return Compared(launched, z, x + y, model=x + y)


@case("softmax of rows, template by NVRTC", "NVRTC", "6 x 200, __half")
def softmax_by_nvrtc() -> Compared:
    source = """
#include <cuda_fp16.h>
template <int THREADS> __device__ float all_max(float v) {
  __shared__ float s[THREADS / 32];
  for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[0];
  for (int i = 1; i < THREADS / 32; ++i) v = fmaxf(v, s[i]);
  return v;
}
template <int THREADS> __device__ float all_sum(float v) {
  __shared__ float s[THREADS / 32];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[0];
  for (int i = 1; i < THREADS / 32; ++i) v += s[i];
  return v;
}
#define INFINITY __int_as_float(0x7f800000)
extern "C" __global__ void softmax(const __half* x, __half* y, int n) {
  x += blockIdx.x * n; y += blockIdx.x * n;
  float peak = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += 64) peak = fmaxf(peak, __half2float(x[i]));
  peak = all_max<64>(peak);
  for (int i = threadIdx.x; i < n; i += 64) sum += expf(__half2float(x[i]) - peak);
  sum = all_sum<64>(sum);
  for (int i = threadIdx.x; i < n; i += 64) y[i] = __float2half(expf(__half2float(x[i]) - peak) / sum);
}
"""
    x, y = normal((6, 200), 19, np.float16), np.zeros((6, 200), np.float16)
    launched = launch(LaunchConfig(6, 64), kernel(source, "softmax", "nvrtc"), x, y, 200)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True).astype(np.float64))
    return Compared(launched, y, e / e.sum(1, keepdims=True), rtol=2**-10, atol=2.0**-25)
