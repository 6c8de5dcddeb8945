"""The kernels of tirx-kernels, as CUDA that nvcc compiles."""

import os

from pretend import ARCH, case, nvcc, torch_on_a_gpu

torch_on_a_gpu()
os.environ["TIRX_PREPARE_NUM_SMS"] = "148"
os.environ["TIRX_PREPARE_CUDA_ARCH"] = ARCH

import tvm
from tirx_kernels import registry, runner

CONFIGURATIONS = int(os.environ.get("CORPUS_CONFIGURATIONS", "1"))


def functions(found):
    """What get_kernel returns: a function, a module, or collections of them."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        for part in found:
            yield from functions(part)
    elif isinstance(found, tvm.IRModule):
        yield found
    elif isinstance(found, tvm.tirx.PrimFunc):
        yield tvm.IRModule({"main": found})


def sources(module):
    for part in module.imports:
        if part.kind == "cuda":
            yield part.inspect_source()
        yield from sources(part)


only = os.environ.get("CORPUS_ONLY", "")
for name, record in sorted(registry.kernel_index().items()):
    if only not in name or ARCH not in record.runtime_cuda_archs:
        continue
    with case(name):
        module = registry.load_kernel(name)
        step = max(1, len(module.CONFIGS) // CONFIGURATIONS)
        for configuration in module.CONFIGS[::step][:CONFIGURATIONS]:
            parameters = {key: value for key, value in configuration.items() if key != "label"}
            label = configuration.get("label", "")
            with case(f"{name}_{label}"):
                for number, unit in enumerate(functions(module.get_kernel(**parameters))):
                    target = runner.cuda_target(arch=ARCH)
                    with target:
                        compiled = tvm.compile(unit, target=target, tir_pipeline="tirx")
                    for code in sources(compiled.mod):
                        if "tcgen05" in code:
                            nvcc(code, f"{name}_{number or ''}_{label}", "-O3")
