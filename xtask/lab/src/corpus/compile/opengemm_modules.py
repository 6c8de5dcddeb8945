"""The kernels of opengemm: its registry names the policies, each becomes a module."""

import pathlib
import re

import opengemm
from pretend import nvcc

SOURCES = pathlib.Path(opengemm.__file__).parent / "src"
KEPT = {"mm": 34, "smm": 20}
PARAMETERS = {
    "mm": "const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap,"
    " typename Geom<P>::acc_t *, int, int, int, int, int, int",
    "smm": "const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap,"
    " const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, uint16_t *, int, int, int, int, int",
}

for library, kept in KEPT.items():
    registry = (SOURCES / library / "registry.cuh").read_text()
    listed = re.search(r"using All = List<(.*?)>;", registry, re.DOTALL)[1]
    policies = re.findall(r"\w+\([^)]*\)", listed)
    for policy in policies[:: max(1, len(policies) // kept)][:kept]:
        text = f"""
#include "{library}/kernel.cuh"
#include "{library}/registry.cuh"
constexpr Policy P = {library}_registry::{policy};
template __global__ void {library}_gemm_kernel<P>({PARAMETERS[library]});
"""
        nvcc(text, f"{library}_{policy}", "-O3", f"-I{SOURCES}", f"-I{SOURCES / library}")
