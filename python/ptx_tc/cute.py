"""Kernels of CuTe DSL: compiled without a GPU.

    x = make_fake_compact_tensor(cutlass.Float32, (cute.sym_int(),))
    code = ptx_tc.cute.compile(host, x, x, cutlass.Int32(0))
    kernel = code.get_kernel(code.kernels[0])

CuTe DSL passes a tensor as a struct: its address, then the extents and strides that are not known when it is compiled.
`kernel.parameters` says what the kernel reads of each: `Struct(array, numpy.int32(array.size))`.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ._core import CheckError
from ._launch import ObjectCode


def compile(function: Any, *args: Any, arch: str = "sm_100a", options: str = "") -> ObjectCode:
    """Compiles a function with `@cute.jit`, with the kernels that it launches.

    Args:
        function: The function of the host.
        args: Its arguments: tensors that stand for others (`make_fake_compact_tensor`), and numbers.
        arch: The target.
        options: More options of `cute.compile`, such as `--opt-level 2`.

    Raises:
        CheckError: CuTe DSL leaves no PTX.
    """
    try:
        import cutlass.cute as cute
    except ImportError:
        raise ImportError("ptx_tc.cute needs CuTe DSL: `pip install nvidia-cutlass-dsl`") from None
    with tempfile.TemporaryDirectory() as folder:
        given = f"--keep-ptx --gpu-arch {arch} --dump-dir={folder} {options}".strip()
        compiled = cute.compile(function, *args, options=given)
        text = str(getattr(compiled.artifacts, "PTX", None) or "")
        found = [os.path.join(folder, it) for it in sorted(os.listdir(folder)) if it.endswith(".ptx")]
        if ".version" not in text and found:
            with open(found[0], encoding="utf-8") as file:
                text = file.read()
    if ".version" not in text:
        raise CheckError("CuTe DSL leaves no PTX: this version has another way to keep it")
    return ObjectCode.from_ptx(text.encode(), name=f"{getattr(function, '__name__', 'kernel')}.ptx")
