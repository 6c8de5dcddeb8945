"""Kernels of tilelang: compiled without a GPU.

    run = ptx_tc.tilelang.run(matmul(256, 128, 64), a, b, c)
    run.raise_for_findings()

tilelang makes CUDA C++ of a function, and nvcc makes PTX of it: `pip install tilelang`, and the packages of nvcc
(`ptx_tc.cuda`). What tilelang's host code passes to the kernels, tensor maps and grids, is read from it as long as all
shapes are known.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from . import cuda
from ._core import LaunchError
from ._launch import Device, LaunchConfig, ObjectCode, TensorMap, launch
from ._run import Run
from .triton import _ELEMENTS

#: Swizzles and interleaves of tensor maps, by their numbers in the driver.
_SWIZZLES = ("none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B")
_INTERLEAVES = ("none", "16B", "32B")


def _lowered(function: Any, arch: str) -> Any:
    try:
        import tilelang
    except ImportError:
        raise ImportError("ptx_tc.tilelang needs tilelang: `pip install tilelang`") from None
    from tilelang import tvm

    if hasattr(function, "get_tir"):
        raise LaunchError("a function with `@tilelang.jit` compiles for the GPU here: pass what it returns, or `f.get_tir(...)`")
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target:
        return tilelang.lower(function, target=target, enable_host_codegen=False, enable_device_compile=False)


def _compiled(lowered: Any, arch: str, options: Sequence[str]) -> ObjectCode:
    from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH

    includes = [f"-I{it}" for it in (TILELANG_TEMPLATE_PATH, CUTLASS_INCLUDE_DIR) if it]
    given = ["-std=c++20", *includes, *options]
    return cuda.compile(str(lowered.kernel_source), arch=arch, options=given, compiler="nvcc", name="tilelang.cu")


def compile(function: Any, *, arch: str = "sm_100a", options: Sequence[str] = ()) -> ObjectCode:
    """Compiles a function with `@T.prim_func`, with the kernels that it launches.

    Args:
        function: The function.
        arch: The target.
        options: More options of nvcc.

    Raises:
        CompileError: nvcc is not installed, or refuses the source.
    """
    return _compiled(_lowered(function, arch), arch, options)


class _Host:
    """What the code of the host does, as far as it is known without running it."""

    def __init__(self, module: Any, names: Sequence[str], arrays: Sequence[Any]) -> None:
        from tilelang import tvm

        self.tir = getattr(tvm, "tirx", None) or tvm.tir
        self.arrays = dict(zip(names, arrays))
        self.maps: dict[str, TensorMap] = {}
        self.calls: list[tuple[str, list[Any]]] = []
        for function in module.functions.values():
            if hasattr(function, "body"):
                self.tir.stmt_functor.post_order_visit(function.body, self._visit)

    def _visit(self, node: Any) -> None:
        tir = self.tir
        if not isinstance(node, tir.Call) or not str(getattr(node.op, "name", "")).endswith("tvm_call_packed"):
            return
        name, given = str(node.args[0].value), list(node.args[1:])
        if name == "__tvm_tensormap_create_tiled":
            self.maps[str(given[0].name)] = self._map(given[1:])
        elif name.startswith("__tvm_tensormap"):
            raise LaunchError(f"a tensor map is made by `{name}`, which is not supported here")
        elif not name.startswith("__tvm"):
            self.calls.append((name, given))

    def _number(self, value: Any) -> int:
        if not isinstance(value, (int, self.tir.IntImm)):
            raise LaunchError(f"`{value}` is known at the launch only: compile for shapes that are known")
        return int(value)

    def _map(self, given: list[Any]) -> TensorMap:
        """Type, dimensions, address, then extents, strides, box and steps, the innermost first, and the modes."""
        element, rank = self._number(given[0]), self._number(given[1])
        numbers = [self._number(it) for it in given[3:]]
        extents, strides, box, steps = (numbers[at * rank : (at + 1) * rank] for at in range(4))
        interleave, swizzle, _, fill = numbers[4 * rank :]
        return TensorMap(
            self._array(given[2]),
            box[::-1],
            _SWIZZLES[swizzle],
            element=_ELEMENTS[element],
            shape=extents[::-1],
            strides=strides[:0:-1],
            element_strides=steps[::-1],
            interleave=_INTERLEAVES[interleave],
            fill="nan" if fill else "zero",
        )

    def _array(self, variable: Any) -> Any:
        name = str(getattr(variable, "name", variable))
        if name not in self.arrays:
            raise LaunchError(f"the host passes `{variable}` to the kernel, which is none of {', '.join(self.arrays)}")
        return self.arrays[name]

    def argument(self, value: Any) -> Any:
        """An argument of a kernel."""
        tir = self.tir
        if isinstance(value, tir.Var):
            name = str(value.name)
            return self.maps[name] if name in self.maps else self._array(value)
        if isinstance(value, tir.FloatImm):
            return float(value)
        return self._number(value)


def run(
    function: Any,
    *arrays: Any,
    arch: str = "sm_100a",
    device: Optional[Device] = None,
    options: Sequence[str] = (),
    **settings: Any,
) -> Run:
    """Compiles a function for its arrays and runs its kernel, as tilelang does on a GPU.

    Args:
        function: A function with `@T.prim_func`, whose shapes are known.
        arrays: An array for each of its parameters, also for results.
        arch: The target.
        device: Where it runs.
        options: More options of nvcc.
        settings: The options of `ptx_tc.launch`.

    Raises:
        LaunchError: Its host code does what is not known here: several kernels, or shapes of the launch.
        CompileError: nvcc is not installed, or refuses the source.
    """
    lowered = _lowered(function, arch)
    names = [str(function.buffer_map[it].data.name) if it in function.buffer_map else str(it.name) for it in function.params]
    if len(names) != len(arrays):
        raise LaunchError(f"the function has {len(names)} parameters ({', '.join(names)}), but {len(arrays)} arrays are given")
    host = _Host(lowered.host_mod, names, arrays)
    if len(host.calls) != 1:
        raise LaunchError(f"the host calls {len(host.calls)} kernels: compile it, and launch each of them")
    name, given = host.calls[0]
    extents: dict[str, int] = {}
    parameters: Sequence[str] = ()
    for variable, part in lowered.device_mod.functions.items():
        if str(variable.name_hint) == name:
            parameters = [str(it) for it in part.attrs["tirx.kernel_launch_params"]]
    if not parameters:
        raise LaunchError(f"nothing says what the host passes to `{name}`: this version of tilelang has another way")
    values = given[len(given) - len(parameters) :]
    for what, value in zip(parameters, values):
        extents[what] = host._number(value)
    kernel = _compiled(lowered, arch, options).get_kernel(name)

    def three(what: str) -> list[int]:
        return [extents.get(f"{what}Idx.{axis}", 1) for axis in "xyz"]

    shared = next((size for what, size in extents.items() if "shared" in what or "shmem" in what), 0)
    config = LaunchConfig(grid=three("block"), block=three("thread"), shmem_size=shared)
    arguments = [host.argument(it) for it in given[: len(given) - len(parameters)]]
    return launch(config, kernel, *arguments, device=device, **settings)
