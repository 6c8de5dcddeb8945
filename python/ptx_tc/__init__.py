"""Check and run kernels for Blackwell's tensor cores, without a GPU.

    import numpy as np
    import ptx_tc

    kernel = ptx_tc.ObjectCode.from_ptx("gemm.ptx").get_kernel("gemm")
    a = np.random.rand(128, 64).astype(np.float16)
    ...
    run = ptx_tc.launch(ptx_tc.LaunchConfig(grid=1, block=128), kernel, a, b, d)
    run.raise_for_findings()
    np.testing.assert_allclose(d, reference)

`launch` runs a grid on the CPU, writes arrays back in place, and says where the kernel hangs, races, or leaves its
memory. `check` finds what is wrong with a text. The names are those of `cuda.core`, so that moving a test to a card is a
small step. docs/python.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import CheckError, LaunchError, __version__
from ._find import find_ptx_tc_bin

if TYPE_CHECKING:
    from ._descriptors import (
        Descriptor,
        DescriptorField,
        decode_idesc,
        decode_smem,
        decode_zero_mask,
        encode_idesc,
        encode_smem,
        encode_zero_mask,
    )
    from ._findings import CheckReport, Finding, Label, Place, check
    from ._launch import (
        Device,
        DeviceArray,
        Kernel,
        LaunchConfig,
        ObjectCode,
        Packed,
        Parameter,
        Pointer,
        Struct,
        TensorMap,
        Word,
        launch,
    )
    from ._run import FindingsError, Reason, Run, Statistics

__all__ = [
    "CheckError",
    "CheckReport",
    "Descriptor",
    "DescriptorField",
    "Device",
    "DeviceArray",
    "Finding",
    "FindingsError",
    "Kernel",
    "Label",
    "LaunchConfig",
    "LaunchError",
    "ObjectCode",
    "Packed",
    "Parameter",
    "Place",
    "Pointer",
    "Reason",
    "Run",
    "Statistics",
    "Struct",
    "TensorMap",
    "Word",
    "__version__",
    "check",
    "decode_idesc",
    "decode_smem",
    "decode_zero_mask",
    "encode_idesc",
    "encode_smem",
    "encode_zero_mask",
    "find_ptx_tc_bin",
    "launch",
]

# Where each name is. They are looked up when they are used: the command starts without them.
_WHERE = {
    "_descriptors": (
        "Descriptor DescriptorField decode_idesc decode_smem decode_zero_mask encode_idesc encode_smem encode_zero_mask"
    ),
    "_findings": "CheckReport Finding Label Place check",
    "_launch": (
        "Device DeviceArray Kernel LaunchConfig ObjectCode Packed Parameter Pointer Struct TensorMap Word launch"
    ),
    "_run": "FindingsError Reason Run Statistics",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
_SUBMODULES = ("cuda", "cute", "testing", "tilelang", "triton")


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULES:
        value: object = getattr(importlib.import_module("." + _MODULES[name], __name__), name)
    elif name in _SUBMODULES:
        value = importlib.import_module("." + name, __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
