"""Kernels of Triton and Gluon: compiled without a GPU, and run on the CPU.

    run = ptx_tc.triton.run(matmul, (4, 2), a, b, c, m, n, k, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    run.raise_for_findings()

Arrays are of numpy (with `ml_dtypes` for bfloat16 and float8), or of torch on the CPU. A tensor descriptor of the host is
made of either: `TensorDescriptor.from_tensor(ptx_tc.triton.tensor(a), [128, 64])`.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from ._arrays import ByteView, is_array
from ._core import LaunchError
from ._launch import Device, DeviceArray, Kernel, LaunchConfig, ObjectCode, TensorMap, launch
from ._run import Run

#: The target that is compiled for if nothing is said.
ARCH = "sm_100a"


def _triton() -> Any:
    try:
        import triton
    except ImportError:
        raise ImportError("ptx_tc.triton needs Triton: `pip install triton`") from None
    return triton


def _capability(arch: str) -> int:
    digits = "".join(it for it in arch if it.isdigit())
    if not digits or not arch.startswith("sm_"):
        raise LaunchError(f"`{arch}` is no target: write `sm_100a`")
    return int(digits)


class _Dtype:
    """The type of elements, as Triton asks for it."""

    def __init__(self, name: str, itemsize: int) -> None:
        self.name = name
        self.itemsize = itemsize
        self.is_floating_point = "float" in name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dtype) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Tensor:
    """An array, as Triton takes tensors."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self._offset = 0
        if isinstance(array, DeviceArray):
            self.shape = list(array.shape)
            self.dtype = _Dtype(array.dtype, array.itemsize)
            self.nbytes = array.nbytes
            return
        view = ByteView.of(array)
        self.shape = list(view.shape)
        self.dtype = _Dtype(view.dtype, view.itemsize)
        root = array
        while getattr(root, "base", None) is not None and hasattr(root.base, "__array_interface__"):
            root = root.base
        #: Buffers of a device are aligned; what is a part of one may not be.
        self._offset = view.start - ByteView.of(root).start if root is not array and _is_flat(root) else 0
        self.nbytes = int(view.bytes.size)

    def data_ptr(self) -> int:
        """An address that is aligned like the one that the kernel is given."""
        return self._offset

    def ptr_range(self) -> int:
        """Bytes from there on."""
        return self.nbytes

    def stride(self, dim: Optional[int] = None) -> Any:
        """Elements from one to the next along each dimension."""
        strides = [1]
        for size in reversed(self.shape[1:]):
            strides.append(strides[-1] * size)
        strides = list(reversed(strides[: len(self.shape)]))
        return tuple(strides) if dim is None else strides[dim]

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize


def _is_flat(array: Any) -> bool:
    return bool(getattr(getattr(array, "flags", None), "c_contiguous", False))


def tensor(array: Any) -> Any:
    """An array as Triton takes tensors: for tensor descriptors of the host. Tensors of torch are returned as they are."""
    return array if hasattr(array, "data_ptr") else Tensor(array)


class _Utils:
    """What Triton asks the driver of a GPU."""

    @staticmethod
    def get_device_properties(device: object) -> dict[str, int]:
        del device
        return {
            "max_shared_mem": 232448,
            "max_num_regs": 65536,
            "multiprocessor_count": 148,
            "warpSize": 32,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }

    @staticmethod
    def load_binary(name: str, binary: bytes, shared: int, device: object) -> tuple[Any, Any, int, int, int]:
        del binary, shared, device
        return name, name, 0, 0, 1024

    @staticmethod
    def unload_module(module: object) -> None:
        del module


class _Driver:
    """A driver for Triton, whose device is a target."""

    def __init__(self, arch: str) -> None:
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", _capability(arch), 32)
        self.utils = _Utils()
        # Kernels are cached by the device.
        self._device = f"ptx-tc {arch}"

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> Any:
        return self._device

    def set_current_device(self, device: object) -> None:
        del device

    @staticmethod
    def get_current_stream(device: object) -> int:
        del device
        return 0

    @staticmethod
    def launcher_cls(source: object, metadata: object) -> Any:
        del source, metadata
        raise LaunchError("there is no GPU: run the kernel by `ptx_tc.triton.run`")

    @staticmethod
    def map_python_to_cpp_type(ty: str) -> str:
        return ty


@contextlib.contextmanager
def _active(arch: str) -> Iterator[_Driver]:
    """Triton compiles for a target meanwhile."""
    _triton()
    from triton.runtime.driver import driver

    before = driver._active
    ours = _Driver(arch)
    driver.set_active(ours)
    try:
        yield ours
    finally:
        driver._active = before


class Compiled:
    """A kernel that Triton has compiled."""

    def __init__(self, compiled: Any) -> None:
        #: The object of Triton, with `asm` and `metadata`.
        self.triton = compiled
        self.metadata = compiled.metadata
        #: The module.
        self.code = ObjectCode.from_ptx(compiled.asm["ptx"].encode(), name=f"{compiled.metadata.name}.ptx")
        #: The kernel in it.
        self.kernel: Kernel = self.code.get_kernel(compiled.metadata.name)
        self._signature: list[Any] = list(compiled.src.signature.values())
        self._names: list[str] = [str(it) for it in compiled.src.signature]

    @property
    def ptx(self) -> str:
        """The PTX."""
        return str(self.triton.asm["ptx"])

    def config(self, grid: Union[int, Sequence[int]]) -> LaunchConfig:
        """How it is launched on a grid of so many programs."""
        ctas = int(getattr(self.metadata, "num_ctas", 1))
        return LaunchConfig(grid=grid, cluster=ctas if ctas > 1 else None, shmem_size=int(self.metadata.shared))

    def arguments(self, values: Sequence[Any], grid: Sequence[int]) -> tuple[list[Any], dict[str, str]]:
        """The arguments of the kernel in PTX: with what Triton adds.

        Args:
            values: A value for each parameter in Python; those of constants are not used.
            grid: Programs along each axis: scratch memory is as large as there are.

        Returns:
            The arguments, and what arrays are called by the names of parameters in PTX.
        """
        flat: list[tuple[str, Any]] = []
        descriptors = iter(getattr(self.metadata, "tensordesc_meta", None) or [])
        for name, ty, value in zip(self._names, self._signature, values):
            _flatten(name, ty, value, descriptors, flat)
        programs = int(getattr(self.metadata, "num_ctas", 1))
        for size in grid:
            programs *= size
        for scratch in ("global_scratch_size", "profile_scratch_size"):
            flat.append(("scratch", _scratch(int(getattr(self.metadata, scratch, 0) or 0) * programs)))
        parameters = self.kernel.parameters
        # Older versions have less scratch memory.
        while len(flat) > len(parameters) and flat[-1][0] == "scratch":
            flat.pop()
        names = {it.name: name for it, (name, _) in zip(parameters, flat)}
        return [value for _, value in flat], names

    def launch(
        self,
        grid: Union[int, Sequence[int]],
        *values: Any,
        device: Optional[Device] = None,
        **options: Any,
    ) -> Run:
        """Runs it: a value for each parameter in Python, and the options of `ptx_tc.launch`."""
        sizes = (grid,) if isinstance(grid, int) else tuple(grid)
        if len(values) == len(self._signature) - sum(it == "constexpr" for it in self._signature):
            # Constants are left out.
            rest = iter(values)
            values = tuple(None if it == "constexpr" else next(rest) for it in self._signature)
        if len(values) != len(self._signature):
            raise LaunchError(
                f"`{self.kernel.name}` has {len(self._signature)} parameters ({', '.join(self._names)}), but "
                f"{len(values)} arguments are given"
            )
        arguments, names = self.arguments(values, sizes)
        options.setdefault("names", names)
        return launch(self.config(sizes), self.kernel, *arguments, device=device, **options)

    def __repr__(self) -> str:
        return f"<Compiled {self.kernel.name}>"


def _scratch(size: int) -> Any:
    if size == 0:
        return None
    import numpy as np

    return np.zeros(size, dtype=np.uint8)


#: Elements of tensor maps, by their numbers in Triton's metadata.
_ELEMENTS = (
    "u8",
    "u16",
    "u32",
    "s32",
    "u64",
    "s64",
    "f16",
    "f32",
    "f32_ftz",
    "f64",
    "bf16",
    "tf32",
    "tf32_ftz",
    "b4x16",
    "b4x16_p64",
    "b6x16_p32",
)
_SWIZZLES = ("none", "32B", "64B", "128B")


def _flatten(name: str, ty: Any, value: Any, descriptors: Iterator[Any], flat: list[tuple[str, Any]]) -> None:
    """Adds what stands in PTX for a parameter in Python."""
    import numpy as np

    if isinstance(ty, tuple):
        for index, (inner, part) in enumerate(zip(ty, value)):
            _flatten(f"{name}.{index}", inner, part, descriptors, flat)
        return
    if ty == "constexpr":
        return
    if str(ty).startswith("tensordesc"):
        meta = next(descriptors, None)
        shape, strides = [int(it) for it in value.shape], [int(it) for it in value.strides]
        array = value.base.array if isinstance(value.base, Tensor) else value.base
        padding = value.padding == "nan"
        if meta is None:
            flags = (padding, bool(getattr(value, "round_f32_to_tf32", False)))
            flat.append((name, array))
            flat.extend((name, np.int64(it)) for it in (*shape, *strides))
            flat.extend((name, bool(it)) for it in flags)
        else:
            flat.append((name, _tensor_map(array, shape, strides, meta, value)))
        flat.extend((name, np.int32(it)) for it in shape)
        flat.extend((name, np.int64(it)) for it in strides)
        return
    if isinstance(value, Tensor):
        value = value.array
    if isinstance(value, DeviceArray):
        flat.append((name, value))
        return
    if str(ty).startswith("*") or is_array(value):
        flat.append((name, value))
    elif ty in ("fp16", "bf16"):
        flat.append((name, _narrow(float(value), str(ty))))
    elif ty in ("fp32", "f32"):
        flat.append((name, np.float32(value)))
    elif ty == "fp64":
        flat.append((name, np.float64(value)))
    else:
        flat.append((name, int(value)))


def _narrow(value: float, ty: str) -> bytes:
    import numpy as np

    if ty == "fp16":
        return np.float16(value).tobytes()
    bits = int(np.float32(value).view(np.uint32))
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) & 0xFFFF).to_bytes(2, "little")


def _tensor_map(array: Any, shape: list[int], strides: list[int], meta: Mapping[str, Any], value: Any) -> TensorMap:
    if meta.get("is_im2col", False):
        raise LaunchError("a tensor descriptor is in im2col mode, which is not supported here")
    element = "tf32" if getattr(value, "round_f32_to_tf32", False) else _ELEMENTS[int(meta["elem_type"])]
    extents = list(shape)
    if meta.get("fp4_padded", False):
        extents[-1] *= 2
    size = int(meta["elem_size"])
    return TensorMap(
        array,
        box=[int(it) for it in meta["block_size"]],
        swizzle=_SWIZZLES[int(meta["swizzle"])],
        element=element,
        shape=extents,
        strides=[it * size for it in strides[:-1]],
        fill="nan" if value.padding == "nan" else "zero",
    )


def compile(
    kernel: Any,
    signature: Mapping[str, str],
    constexprs: Optional[Mapping[str, Any]] = None,
    *,
    arch: str = ARCH,
    attrs: Optional[Mapping[Any, Any]] = None,
    **options: Any,
) -> Compiled:
    """Compiles a kernel for types that are given, without a GPU.

    Args:
        kernel: A function with `@triton.jit` or `@gluon.jit`.
        signature: The type of each parameter: `{"a": "*fp16", "n": "i32", "BLOCK": "constexpr"}`.
        constexprs: The values of constants.
        arch: The target.
        attrs: What is known of parameters, as Triton has it: `{(0,): [["tt.divisibility", 16]]}`.
        options: Options of Triton, such as `num_warps`.
    """
    triton = _triton()
    types = {**signature, **{name: "constexpr" for name in constexprs or {}}}
    ordered = {name: types[name] for name in kernel.arg_names if name in types}
    if type(kernel).__name__ == "GluonJITFunction":
        from triton.experimental.gluon._runtime import GluonASTSource as Source
    else:
        from triton.compiler import ASTSource as Source
    with _active(arch) as driver:
        source = Source(kernel, ordered, dict(constexprs or {}), dict(attrs or {}))
        return Compiled(triton.compile(source, target=driver.get_current_target(), options=options))


def specialize(kernel: Any, grid: Any, *args: Any, arch: str = ARCH, **meta: Any) -> tuple[Compiled, list[Any], tuple[int, ...]]:
    """Compiles a kernel for arguments, as a launch of Triton does.

    Returns:
        The kernel, a value for each of its parameters in Python, and the grid.
    """
    kernel, meta = _plain(kernel, meta)
    def given(value: Any) -> Any:
        return tensor(value) if isinstance(value, DeviceArray) or is_array(value) else value

    wrapped = [given(it) for it in args]
    options = {name: given(it) for name, it in meta.items()}
    with _active(arch) as driver:
        try:
            compiled = kernel.run(*wrapped, grid=grid, warmup=True, **options)
            binder = kernel.device_caches[driver.get_current_device()][4]
            bound = binder(*wrapped, **{**options, "debug": kernel.debug})[0]
        except (TypeError, KeyError) as error:
            raise LaunchError(f"Triton refuses the arguments: {error}") from error
    sizes = grid(bound) if callable(grid) else grid
    sizes = (sizes,) if isinstance(sizes, int) else tuple(int(it) for it in sizes)
    return Compiled(compiled), list(bound.values()), sizes


def _plain(kernel: Any, meta: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kernel inside of an autotuner, with its first configuration that is not given otherwise."""
    while not hasattr(kernel, "device_caches"):
        if hasattr(kernel, "configs") and kernel.configs:
            meta = {**kernel.configs[0].all_kwargs(), **meta}
        elif hasattr(kernel, "values") and hasattr(kernel, "fn"):
            raise LaunchError("`@triton.heuristics` needs its values: pass the function inside (`kernel.fn`), and the constants")
        if not hasattr(kernel, "fn"):
            raise LaunchError(f"a {type(kernel).__name__} is no kernel of Triton: write `@triton.jit` above it")
        kernel = kernel.fn
    return kernel, meta


#: Options of `ptx_tc.launch`.
_LAUNCH_OPTIONS = ("strict", "runs", "schedule", "seed", "numbers", "checks", "record", "clusters", "budget", "names")


def run(
    kernel: Any,
    grid: Any,
    *args: Any,
    arch: str = ARCH,
    device: Optional[Device] = None,
    **meta: Any,
) -> Run:
    """Compiles a kernel for its arguments and runs it, as `kernel[grid](*args, **meta)` does on a GPU.

    Args:
        kernel: A function with `@triton.jit` or `@gluon.jit`. Of an autotuner, the first configuration is used.
        grid: Programs along each axis, or a function of the arguments that returns them.
        args: The arguments.
        arch: The target.
        device: Where it runs.
        meta: Constants and options of Triton (`num_warps=8`), and the options of `ptx_tc.launch` (`runs=20`).

    Raises:
        LaunchError: It cannot be launched like this.
    """
    options = {name: meta.pop(name) for name in _LAUNCH_OPTIONS if name in meta}
    compiled, values, sizes = specialize(kernel, grid, *args, arch=arch, **meta)
    return compiled.launch(sizes, *values, device=device, **options)
