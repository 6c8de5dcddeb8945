"""The kernels that JAX ships for Blackwell, through Pallas and Mosaic GPU.

Mosaic's own compiler asks a driver for the architecture, and writes the PTX before it looks for more.
"""

import ctypes
import importlib.util
import os
import pathlib
import subprocess
import tempfile
import types

from pretend import CAPABILITY, case, modules, skip, toolkit

SITE = pathlib.Path(importlib.util.find_spec("jaxlib").origin).parent.parent
DIRECTORY = pathlib.Path(tempfile.mkdtemp())
DRIVER = f"""
int cuInit(unsigned flags) {{ return 0; }}
int cuDriverGetVersion(int *version) {{ *version = 13000; return 0; }}
int cuDeviceGetCount(int *count) {{ *count = 1; return 0; }}
int cuDeviceGet(int *device, int number) {{ *device = 0; return 0; }}
int cuCtxGetDevice(int *device) {{ *device = 0; return 0; }}
int cuGetErrorName(int error, const char **name) {{ *name = "none"; return 0; }}
int cuGetErrorString(int error, const char **text) {{ *text = "none"; return 0; }}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{{ *value = attribute == 75 ? {CAPABILITY[0]} : attribute == 76 ? {CAPABILITY[1]} : attribute == 16 ? 148 : 1; return 0; }}
"""


def driver():
    source, library = DIRECTORY / "driver.c", DIRECTORY / "libcuda.so.1"
    source.write_text(DRIVER)
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, source], check=True)
    for path in (library, *SITE.glob("nvidia/*/lib/libnvJitLink.so.*")):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


driver()
dumped = DIRECTORY / "dumped"
dumped.mkdir()
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["MOSAIC_GPU_DUMP_TO"] = str(dumped)
os.environ["MOSAIC_GPU_CUDA_ROOT"] = os.environ["CUDA_ROOT"] = str(toolkit())
os.chdir(toolkit())  # It looks for the device's library of mathematics here.

import jax
import jax.numpy as jnp
import jax_plugins.xla_cuda13 as plugin
from jax.experimental.mosaic.gpu import core
from jax.experimental.pallas.ops.gpu import blackwell_matmul_mgpu as matmul
from jax.experimental.pallas.ops.gpu import blackwell_ragged_dot_mgpu as ragged

jax.local_devices = lambda: [types.SimpleNamespace(core_count=148)]
compiler = ctypes.CDLL(plugin._get_library_path()).MosaicGpuCompile
compiler.restype, compiler.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]


def build(name, function, *shapes):
    with case(name):
        skip()
        core.KNOWN_KERNELS.clear()
        arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
        jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda",))
        for module in list(core.KNOWN_KERNELS.values()):
            compiler(module, len(module))
            for path in dumped.iterdir():
                if path.suffix == ".ptx":
                    modules.keep(path.read_text())
                path.unlink()


BRAIN, HALF, SIZE = jnp.bfloat16, jnp.float16, 4096
for dtype in (BRAIN, HALF):
    for m, n, k, steps, pair in ((128, 128, 64, 4, False), (128, 64, 128, 2, False), (128, 256, 64, 3, False), (128, 128, 64, 4, True), (128, 64, 64, 6, True)):
        for minor, width, columns in ((0, 1, 64), (1, 4, 32)):
            chosen = matmul.TuningConfig(m, n, k, steps, pair, columns, matmul.MatmulDimension(minor), width)
            build(f"matmul_{dtype.__name__}_{m}_{n}_{k}_{pair}_{minor}", lambda a, b, it=chosen: matmul.matmul_kernel(a, b, it), ((SIZE, SIZE), dtype), ((SIZE, SIZE), dtype))
for m, n, k, steps, pair in ((128, 128, 64, 4, False), (128, 64, 64, 2, False), (128, 128, 64, 4, True), (128, 64, 128, 2, True)):
    chosen = ragged.TuningConfig(m, n, k, steps, pair, 4, matmul.MatmulDimension.N)
    build(
        f"ragged_{m}_{n}_{k}_{pair}", lambda a, b, sizes, it=chosen: ragged.ragged_dot_kernel(a, b, sizes, it), ((SIZE, SIZE), BRAIN), ((8, SIZE, SIZE), BRAIN),
        ((8,), jnp.int32),
    )  # fmt: skip
