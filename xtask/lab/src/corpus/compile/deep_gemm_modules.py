"""DeepGEMM's templates, with shapes that its heuristics choose."""

import pathlib
import sysconfig

from pretend import nvcc

INCLUDE = pathlib.Path(sysconfig.get_paths()["purelib"]) / "deep_gemm/include"
OPTIONS = ["-O3", f"-I{INCLUDE}", "--expt-extended-lambda"]
IDENTITY = "epilogue::operators::Identity"


def instance(name, header, kernel, *arguments):
    text = f"""
#include <deep_gemm/impls/{header}.cuh>
using namespace deep_gemm;
static void __instantiate_kernel() {{
    auto pointer = reinterpret_cast<void*>(&{kernel}<{", ".join(str(it) for it in arguments)}>);
}}
"""
    nvcc(text, name, *OPTIONS)


def flag(value):
    return str(value).lower()


def bf16(name, m, n, k=64, a="K", b="K", groups=1, cd=128, stages=4, multicast=1, on_a=True, swap=False, kind="Normal", add=False, out="cutlass::bfloat16_t"):
    instance(
        f"bf16_{name}", "sm100_bf16_gemm", "sm100_bf16_gemm_impl",
        f"cute::UMMA::Major::{a}", f"cute::UMMA::Major::{b}", 0, 4096, 7168, m, n, k, groups, 128, 128, cd, stages, 128, 128,
        multicast, flag(on_a), 148, 128, flag(swap), "false", f"GemmType::{kind}", flag(add), out, IDENTITY, 100,
    )  # fmt: skip


def fp8(name, m, n, a="K", b="K", groups=1, cd=128, stages=4, multicast=1, on_a=True, swap=False, kind="Normal", add=False,
        types=("cutlass::float_e4m3_t", "cutlass::float_e4m3_t"), out="cutlass::bfloat16_t", grain=128):  # fmt: skip
    instance(
        f"fp8_{name}", "sm100_fp8_fp4_gemm_1d1d", "sm100_fp8_fp4_gemm_1d1d_impl",
        f"cute::UMMA::Major::{a}", f"cute::UMMA::Major::{b}", grain, grain, 128, 0, 4096, 7168, m, n, 128, groups, 128, 128, cd,
        stages, 2, 128, 128, multicast, flag(on_a), 148, flag(swap), "false", f"GemmType::{kind}", flag(add), *types, out,
        IDENTITY,
    )  # fmt: skip


FP4 = "cutlass::detail::float_e2m1_unpacksmem_t"
for function in (bf16, fp8):
    function("128_128", 128, 128)
    function("128_128_pair", 128, 128, multicast=2, on_a=False)
    function("128_240", 128, 240, cd=32)
    function("128_16", 128, 16, cd=32, stages=8)
    function("128_192_pair", 128, 192, multicast=2, on_a=False)
    function("swap_128_32", 128, 32, swap=True, cd=64, stages=8)
    function("swap_128_64_pair", 128, 64, swap=True, multicast=2)
    function("grouped", 128, 128, groups=4, kind="MGroupedContiguous")
    function("masked", 128, 64, groups=4, kind="MGroupedMasked")
    function("k_grouped", 128, 128, groups=4, kind="KGroupedContiguous", add=True, out="float", a="MN", b="MN")
    function("batched", 128, 128, groups=4, kind="Batched")
    function("float", 128, 96, out="float", cd=128)
fp8("fp4", 128, 128, types=("cutlass::float_e4m3_t", FP4), grain=32)
fp8("fp4_both", 128, 128, types=(FP4, FP4), grain=32)
for n, splits in ((24, 1), (32, 8)):
    instance(
        f"prenorm_{n}_{splits}", "sm100_tf32_hc_prenorm_gemm", "sm100_tf32_hc_prenorm_gemm_impl", n, 7168, 64, 32, 64, splits, 128, 8, 128, 128
    )
instance("bmk", "sm100_bmk_bnk_mn", "sm100_bmn_bnk_mn_gemm_impl", 128, 128, 128, 128, 128, 64, 16, 128, 128, 4, 128)
for heads, q, kind in ((64, 2, "cutlass::float_e4m3_t"), (32, 4, "cutlass::float_e4m3_t"), (64, 2, "cutlass::float_e2m1_t")):
    instance(f"logits_{heads}_{kind}", "sm100_mqa_logits", "sm100_mqa_logits", heads, 128, "true", q, 256, 128, 3, 4, 2, 148, 128, 256, kind)
