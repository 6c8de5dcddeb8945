"""Modules, kernels, devices and launches. The nouns are those of `cuda.core`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from ._arrays import NARROW, ByteView, is_array, pack, unpack
from ._core import LaunchError
from ._findings import read
from ._run import Run, _Unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Size = Union[int, Sequence[int], None]


@dataclass(frozen=True)
class Word:
    """A part of a parameter that the kernel loads."""

    offset: int
    bytes: int
    #: Whether it is used as an address.
    is_address: bool


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    #: Its type in PTX, without the dot: `u64`, `f32`; `b8` of what is an array of bytes.
    type: str
    offset: int
    bytes: int
    align: int
    #: Whether it is an array of bytes: a struct, or a tensor map.
    is_array: bool
    may_be_tensor_map: bool
    #: What the kernel loads of it.
    words: tuple[Word, ...]


def _number(value: Any, what: str, most: int = 2**63 - 1, least: int = 0) -> int:
    """An integer in a range."""
    import operator

    try:
        number = operator.index(value)
    except TypeError:
        raise LaunchError(f"`{what}` is an integer, not {value!r}") from None
    if not least <= number <= most:
        raise LaunchError(f"`{what}` is an integer from {least} to {most}, not {number}")
    return number


def _clusters(given: Any) -> Optional[tuple[int, int]]:
    """The first cluster, and the one after the last."""
    if given is None:
        return None
    if isinstance(given, range):
        if given.step != 1:
            raise LaunchError(f"`clusters` is a range without gaps, not {given!r}: launch once for each part")
        first, end = given.start, given.stop
    elif hasattr(given, "__index__"):
        first = _number(given, "clusters", 2**32 - 2)
        end = first + 1
    else:
        try:
            first, end = given
        except (TypeError, ValueError):
            raise LaunchError(f"`clusters` is a number, a range, or a pair of first and end, not {given!r}") from None
    first, end = _number(first, "clusters", 2**32 - 1), _number(end, "clusters", 2**32 - 1)
    if first >= end:
        raise LaunchError(f"`clusters` is empty: {given!r}")
    return first, end


class ObjectCode:
    """A module of PTX."""

    def __init__(self, core: _core.Module, name: str) -> None:
        self._core = core
        self.name = name

    @classmethod
    def from_ptx(
        cls, source: Union[str, bytes, os.PathLike[str]], *, name: Optional[str] = None, module: int = 0
    ) -> ObjectCode:
        """Parses a module.

        Args:
            source: PTX as text or bytes, or the path of a file: also of an object file, a fat binary or a compiler's
                cache that holds PTX.
            name: What it is called in findings.
            module: Which module of PTX, if a binary has several.

        Raises:
            CheckError: It is no PTX, or the file cannot be read.
        """
        path, text = read(source, name, module)
        return cls(_core.Module(path, text), path)

    @property
    def code(self) -> bytes:
        """The PTX."""
        return self._core.text.encode()

    @property
    def kernels(self) -> list[str]:
        """The symbols of its kernels."""
        return self._core.kernels()

    def get_kernel(self, name: str) -> Kernel:
        """A kernel by its symbol, or by its name in C++ as far as that tells it from the others.

        Raises:
            LaunchError: There is none, or several may be meant.
        """
        return Kernel(self._core.kernel(name), self)

    def __reduce__(self) -> Any:
        # Another process parses it again. A copy within this one has variables of its own in a device, too.
        return ObjectCode._of, (self.name, self._core.text)

    @classmethod
    def _of(cls, name: str, text: str) -> ObjectCode:
        return cls(_core.Module(name, text), name)

    def __repr__(self) -> str:
        return f"<ObjectCode {self.name}: {len(self.kernels)} kernels>"


class Kernel:
    """A kernel of a module."""

    def __init__(self, core: _core.Kernel, code: ObjectCode) -> None:
        self._core = core
        self._code = code

    def __reduce__(self) -> Any:
        return _kernel_of, (self._code, self.symbol)

    @property
    def symbol(self) -> str:
        """Its name in the PTX."""
        return self._core.symbol

    @property
    def name(self) -> str:
        """Its name in the source, as far as the symbol says it."""
        return self._core.name

    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters, and what its code does with each word of them."""
        return [
            Parameter(name, ty, offset, size, align, array, map, tuple(Word(*word) for word in words))
            for name, ty, offset, size, align, array, map, words in self._core.parameters()
        ]

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(it.name for it in self.parameters)})>"


def _kernel_of(code: ObjectCode, symbol: str) -> Kernel:
    return code.get_kernel(symbol)


def _three(size: _Size, what: str) -> Optional[tuple[int, int, int]]:
    if size is None:
        return None
    import operator

    try:
        given: Any = [size] if hasattr(size, "__index__") else size
        sizes = [operator.index(it) for it in given]
    except TypeError:
        raise LaunchError(f"`{what}` is a number, or up to three, not {size!r}") from None
    if not 1 <= len(sizes) <= 3 or any(it < 1 or it > 2**31 - 1 for it in sizes):
        raise LaunchError(f"`{what}` is one to three numbers greater than 0, not {size!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class LaunchConfig:
    """How large a launch is.

    With a cluster, `grid` counts clusters, as in `cuda.core`; without, it counts CTAs.
    """

    #: CTAs, or clusters if `cluster` is given: a number, or up to three.
    grid: _Size = None
    #: Threads of a CTA.
    block: _Size = None
    #: CTAs of a cluster.
    cluster: _Size = None
    #: Bytes of dynamic shared memory.
    shmem_size: int = 0
    #: Whether all CTAs are there at once, as kernels that call `cooperative_groups::this_grid().sync()` need it.
    cooperative_launch: bool = False

    def _sizes(self) -> dict[str, Any]:
        grid, block = _three(self.grid, "grid"), _three(self.block, "block")
        cluster = _three(self.cluster, "cluster")
        if grid is not None and cluster is not None:
            grid = grid[0] * cluster[0], grid[1] * cluster[1], grid[2] * cluster[2]
        if not 0 <= int(self.shmem_size) < 2**32:
            raise LaunchError(f"`shmem_size` is a number of bytes, not {self.shmem_size!r}")
        return {
            "grid": grid,
            "block": block,
            "cluster": cluster,
            "dynamic_smem": int(self.shmem_size),
            "cooperative": bool(self.cooperative_launch),
        }


class Packed:
    """An array of narrow elements (`float4_e2m1fn` and others of `ml_dtypes`, a byte each) that stands packed in the
    device's memory: two of 4 bits in a byte, four of 6 bits in three, the first in the lowest bits."""

    def __init__(self, array: Any) -> None:
        self.array = array
        view = ByteView.of(array)
        if view.dtype not in NARROW:
            raise LaunchError(f"elements of type {view.dtype} are not packed: there are {', '.join(NARROW)}")


class TensorMap:
    """A tensor map over an array, as `cuTensorMapEncodeTiled` makes one.

    Dimensions are in the order of numpy: the outermost first, so that `box` has the shape of a part of the array.

    Args:
        array: The array, or a [`DeviceArray`] or [`Packed`] one.
        box: The shape of a box.
        swizzle: `none`, `32B`, `64B`, `128B`, `128B_ATOM_32B`, `128B_ATOM_32B_FLIP_8B` or `128B_ATOM_64B`.
        element: The type of the elements (`f16`, `u8`, `tf32`, `b4x16`, `b4x16_p64`, `b6x16_p32` ...), if it is not that
            of the array.
        shape: The shape of the tensor, if it is not that of the array.
        strides: Bytes from one element to the next along each dimension but the last, if they do not lie next to each
            other.
        element_strides: Of each dimension, every so many-th element of a box is taken.
        interleave: `none`, `16B` or `32B`. Then `box` and `shape` leave out the last dimension, of 16 or 32 bytes of
            channels, and a copy takes one element along the dimension of the slices of channels, the second one.
        fill: What stands for elements out of bounds: `zero` or `nan`.

    Raises:
        LaunchError: At the launch, when the driver refuses such a map: with what is wrong.
    """

    def __init__(
        self,
        array: Any,
        box: Sequence[int],
        swizzle: str = "none",
        *,
        element: Optional[str] = None,
        shape: Optional[Sequence[int]] = None,
        strides: Optional[Sequence[int]] = None,
        element_strides: Optional[Sequence[int]] = None,
        interleave: str = "none",
        fill: str = "zero",
    ) -> None:
        self.array = array
        self.box = tuple(box)
        self.swizzle = swizzle
        self.element = element
        self.shape = None if shape is None else tuple(shape)
        self.strides = None if strides is None else tuple(strides)
        self.element_strides = None if element_strides is None else tuple(element_strides)
        self.interleave = interleave
        self.fill = fill
        self._window: Optional[dict[str, Any]] = None

    @classmethod
    def im2col(
        cls,
        array: Any,
        *,
        lower_corner: Sequence[int],
        upper_corner: Sequence[int],
        channels: int,
        pixels: int,
        swizzle: str = "none",
        wide: Optional[str] = None,
        **options: Any,
    ) -> TensorMap:
        """A tensor map in im2col mode, as `cuTensorMapEncodeIm2col` makes one, over an array NWC, NHWC or NDHWC.

        Args:
            array: The array, of three to five dimensions: images, then depth, rows and columns as far as there are,
                channels.
            lower_corner: Where the box that the filter's corner walks in starts, from the start of the image on: a number
                for each dimension but the first and the last. A padding of 1 is -1.
            upper_corner: Where it ends, from the end of the image on: padding less the filter's size less 1.
            channels: Channels of a pixel that a copy takes.
            pixels: Pixels that a copy takes.
            swizzle: As for `TensorMap`.
            wide: `W` or `W128` for pixels along W alone, as `cuTensorMapEncodeIm2colWide` makes maps. Then corners have
                one number.
            options: `element`, `shape`, `strides`, `element_strides`, `interleave` and `fill`, as for `TensorMap`.

        Raises:
            LaunchError: At the launch, when the driver refuses such a map: with what is wrong.
        """
        map = cls(array, (), swizzle, **options)
        map._window = {
            "lower": tuple(lower_corner),
            "upper": tuple(upper_corner),
            "channels": channels,
            "pixels": pixels,
            "wide": wide,
        }
        return map


#: The elements of tensor maps by the types of arrays.
_ELEMENTS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int32": "s32",
    "uint32": "u32",
    "int64": "s64",
    "uint64": "u64",
    "int16": "u16",
    "uint16": "u16",
    "float4_e2m1fn": "b4x16",
    "int4": "b4x16",
    "uint4": "b4x16",
}


class Struct:
    """A struct that a kernel takes by value, laid out as in C.

    The fields are arrays (as pointers), tensor maps, numpy scalars, bytes, and objects of `ctypes`; a plain number has no
    size, so write `numpy.int32(5)`. Either in their order, each at the next byte that its type may start at, or by their
    first bytes: `Struct({0: a, 8: numpy.int32(m)})`.
    """

    def __init__(self, *fields: Any, **named: Any) -> None:
        if len(fields) == 1 and isinstance(fields[0], Mapping):
            placed: Iterable[tuple[Optional[int], Any]] = sorted(fields[0].items())
        else:
            placed = [(None, it) for it in (*fields, *named.values())]
        self.fields = list(placed)


class Pointer(Struct):
    """The address of memory that holds fields as a [`Struct`] does: of an array of pointers, or of tensor maps.

    The memory is there for one launch. `Pointer(map_a, map_b)` is two tensor maps, one after the other.
    """


class DeviceArray:
    """An array in the memory of a device. It is freed with this object, or by `free`."""

    def __init__(self, device: Device, address: int, form: tuple[str, int, tuple[int, ...]]) -> None:
        self.device = device
        #: Its address in the memory of the device.
        self.address = address
        #: Type of its elements, bytes of one, and shape.
        self.dtype, self.itemsize, self.shape = form
        self._is_freed = False

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        size = self.itemsize
        for it in self.shape:
            size *= it
        return size

    def copy_to(self, array: Any) -> list[tuple[int, int]]:
        """Copies it to an array of as many bytes; returns the ranges of bytes that are not known, and stay as they are."""
        view = ByteView.of(array)
        if view.bytes.size != self.nbytes:
            raise LaunchError(f"the array has {view.bytes.size} bytes, and the buffer {self.nbytes}")
        return self.device._core.read(self.address, view.bytes)

    def copy_from(self, array: Any) -> None:
        """Copies an array of as many bytes to it."""
        view = ByteView.of(array)
        if view.bytes.size != self.nbytes:
            raise LaunchError(f"the array has {view.bytes.size} bytes, and the buffer {self.nbytes}")
        self.device._core.write(self.address, view.bytes)

    def numpy(self) -> Any:
        """A copy as an array of numpy; what is not known is 0 there."""
        import numpy as np

        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            try:
                import ml_dtypes

                dtype = np.dtype(getattr(ml_dtypes, self.dtype))
            except (ImportError, AttributeError):
                raise LaunchError(
                    f"numpy has no type {self.dtype}: copy to an array of your own by `copy_to`"
                ) from None
        array = np.zeros(self.shape, dtype=dtype)
        self.copy_to(array)
        return array

    def free(self) -> None:
        """Frees the memory. A kernel that uses it from now on has a finding."""
        if not self._is_freed:
            self._is_freed = True
            self.device._core.free(self.address)

    def __del__(self) -> None:
        try:
            self.free()
        except Exception:  # noqa: BLE001 -- nobody is there to see it
            pass

    def __reduce__(self) -> Any:
        raise TypeError("a DeviceArray is memory of its device, and has no copy: `.numpy()` copies it to an array")

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype}{list(self.shape)} at {self.address:#x}>"


class _Buffer:
    """An array of a launch in the memory of the device."""

    def __init__(self, view: ByteView, data: Any, packed: bool) -> None:
        self.view = view
        #: What is copied to the device, and back.
        self.data = data
        self.packed = packed
        self.address = 0


class _Arguments:
    """Converts arguments for the native part, and makes the buffers that they need."""

    def __init__(self, device: Device, parameters: list[Parameter], names: Mapping[str, str]) -> None:
        self.device = device
        self.parameters = parameters
        self.names = names
        self.buffers: list[_Buffer] = []
        # Of what pointers point to: nothing is copied back.
        self.pointed: list[int] = []
        self.arrays: dict[str, tuple[int, Any]] = {}

    def close(self) -> None:
        """Frees the buffers."""
        for buffer in self.buffers:
            self.device._core.free(buffer.address)
        self.buffers.clear()
        for address in self.pointed:
            self.device._core.free(address)
        self.pointed.clear()

    def place(self, value: Any, name: str) -> tuple[int, Any, str]:
        """The address of an array, its form, and what it is called."""
        if isinstance(value, DeviceArray):
            if value.device is not self.device:
                raise LaunchError("a DeviceArray belongs to another device: launch there, or pass a copy")
            if value._is_freed:
                raise LaunchError("a DeviceArray was freed")
            return value.address, (value.dtype, list(value.shape)), name
        packed = isinstance(value, Packed)
        view = ByteView.of(value.array if isinstance(value, Packed) else value)
        self.arrays.setdefault(name, (view.start, view.owner))
        if packed:
            data = pack(view)
            buffer = _Buffer(view, data, True)
            form = ("uint8", [int(data.size)])
        else:
            start, end = view.start, view.start + view.bytes.size
            for known in self.buffers:
                if known.packed:
                    continue
                first, last = known.view.start, known.view.start + known.view.bytes.size
                if first <= start and end <= last and view.bytes.size:
                    return known.address + start - first, view.form, name
                if start < last and first < end:
                    raise LaunchError(
                        "two arrays share a part of their memory, and none has all of the other: pass copies, or the array "
                        "that both are parts of"
                    )
            buffer = _Buffer(view, view.bytes, False)
            form = view.form
        buffer.address = self.device._core.allocate(name, int(buffer.data.size))
        self.buffers.append(buffer)
        self.device._core.write(buffer.address, buffer.data)
        return buffer.address, form, name

    def tensor_map(self, value: TensorMap, name: str) -> Any:
        """A tensor map, the innermost dimension first."""
        address, (dtype, shape), name = self.place(value.array, name)
        source = value.array.array if isinstance(value.array, Packed) else value.array
        if isinstance(value.array, Packed):
            dtype, shape = ByteView.of(source).dtype, list(ByteView.of(source).shape)
        elif dtype in NARROW and value.element is None:
            raise LaunchError(
                f"an array of {dtype} has a byte for each element: pass `Packed(a)` if they are packed in the device's "
                "memory, or say `element=`"
            )
        element = value.element or _ELEMENTS.get(dtype, "u8")
        for what, word in (("element", element), ("swizzle", value.swizzle), ("interleave", value.interleave)):
            if not isinstance(word, str):
                raise LaunchError(f"`{what}` of a tensor map is a word, not {word!r}")
        slice_bits = {"16B": 128, "32B": 256}.get(value.interleave)
        if value.shape is not None:
            extents = value.shape
        else:
            extents = shape if slice_bits is None else shape[:-1]
        dims = [_number(it, "shape", 2**32 - 1) for it in reversed(extents)]
        box = [_number(it, "box", 2**32 - 1) for it in reversed(value.box)]
        if value.strides is not None:
            strides = [_number(it, "strides") for it in reversed(value.strides)]
        else:
            strides, bits = [], slice_bits or _element_bits(element)
            for dim in dims[:-1]:
                bits *= dim
                strides.append((bits + 7) // 8)
        steps = value.element_strides
        fields = {
            "name": name,
            "element": element,
            "base": address,
            "dims": dims,
            "strides": strides,
            "box_dims": box,
            "element_strides": (
                [1] * len(dims)
                if steps is None
                else [_number(it, "element_strides", 2**32 - 1) for it in reversed(steps)]
            ),
            "swizzle": value.swizzle,
            "interleave": value.interleave,
            "fill": value.fill,
            "window": None if value._window is None else _window(value._window),
        }
        return "map", (dtype, shape) if not isinstance(value.array, Packed) else None, fields

    def argument(self, index: int, value: Any) -> Any:
        """An argument as the native part wants it."""
        parameter = self.parameters[index] if index < len(self.parameters) else None
        name = parameter.name if parameter else f"argument {index}"
        name = self.names.get(name, name)
        try:
            return self.converted(value, name, parameter)
        except LaunchError as error:
            raise LaunchError(f"argument {index} (`{name}`): {error}") from None

    def converted(self, value: Any, name: str, parameter: Optional[Parameter]) -> Any:
        if isinstance(value, TensorMap):
            return self.tensor_map(value, name)
        if isinstance(value, Pointer):
            return "address", self.pointed_to(value, name), None, None
        if isinstance(value, Struct):
            return "struct", self.struct(value, name)
        if isinstance(value, (DeviceArray, Packed)):
            return ("address", *self.place(value, name))
        if value is None:
            return "address", 0, None, None
        if isinstance(value, (bool, int)):
            if not -(2**63) <= value < 2**64:
                raise LaunchError("the integer does not fit 64 bits")
            return int(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        if type(value).__module__ == "ctypes" or hasattr(value, "_fields_"):
            return bytes(value)
        module = type(value).__module__.partition(".")[0]
        if module in ("numpy", "ml_dtypes") and hasattr(value, "dtype") and not is_array(value):
            return self.scalar(value, parameter)
        if isinstance(value, float):
            return value
        if is_array(value):
            if parameter is not None and parameter.bytes != 8 and tuple(getattr(value, "shape", (0,))) == ():
                raise LaunchError(
                    f"an array without dimensions is memory, and the parameter is a number of {parameter.bytes} bytes: pass "
                    "its value, `a.item()`"
                )
            return ("address", *self.place(value, name))
        raise LaunchError(
            f"a {type(value).__name__} is no argument: there are arrays, numbers, bytes, TensorMap, Struct and Pointer"
        )

    def scalar(self, value: Any, parameter: Optional[Parameter]) -> Any:
        """A scalar of numpy."""
        kind, declared = value.dtype.kind, parameter.type if parameter else ""
        if kind in "iub":
            return int(value)
        # Types of `ml_dtypes` are of no kind that numpy knows.
        is_float = kind == "f" or "float" in value.dtype.name
        if not is_float or parameter is None:
            raise LaunchError(f"a {value.dtype} is no number that can be passed")
        if declared in ("f32", "f64"):
            return float(value)
        if not declared.startswith(("b", "f")):
            raise LaunchError(f"a {value.dtype} is given, but the parameter is `.{declared}`: pass an integer, or `value.tobytes()`")
        if value.dtype.itemsize != parameter.bytes:
            raise LaunchError(
                f"a {value.dtype} has {value.dtype.itemsize} bytes, but the parameter has {parameter.bytes}"
            )
        return value.tobytes()

    def pointed_to(self, pointer: Pointer, name: str) -> int:
        """The address of memory that holds the fields of a pointer."""
        import numpy as np

        fields = self.struct(pointer, name)
        data = bytearray(max((offset + size for offset, size, _ in fields), default=0))
        for offset, size, given in fields:
            if isinstance(given, bytes):
                held = given
            elif given[0] == "address":
                held = given[1].to_bytes(8, "little")
            else:
                held = self.device._core.map_bytes(given)
            data[offset : offset + size] = held
        address = self.device._core.allocate(name, len(data))
        self.pointed.append(address)
        self.device._core.write(address, np.frombuffer(data, dtype=np.uint8))
        return address

    def struct(self, struct: Struct, name: str) -> list[tuple[int, int, Any]]:
        """The fields of a struct: first byte, bytes, value."""
        end, fields = 0, []
        for number, (offset, value) in enumerate(struct.fields):
            if offset is not None:
                offset = _number(offset, f"field {number}: the offset", 2**31)
            if isinstance(value, bool) or isinstance(value, (int, float)) and not hasattr(value, "dtype"):
                raise LaunchError(
                    f"field {number}: {value!r} does not say how many bytes it has: write `numpy.int32({value!r})` or another type"
                )
            if isinstance(value, TensorMap):
                size, align, given = 128, 64, self.tensor_map(value, f"{name}.{number}")
            elif value is None or isinstance(value, (DeviceArray, Packed)) or is_array(value):
                size, align = 8, 8
                given = self.converted(value, f"{name}.{number}", None)
            else:
                if isinstance(value, (bytes, bytearray, memoryview)):
                    given, align = bytes(value), 1
                elif hasattr(value, "dtype"):
                    given, align = value.tobytes(), value.dtype.alignment
                elif type(value).__module__ == "ctypes" or hasattr(value, "_fields_"):
                    import ctypes

                    given, align = bytes(value), ctypes.alignment(value)
                else:
                    raise LaunchError(f"field {number}: a {type(value).__name__} is no field of a struct")
                size = len(given)
            if offset is None:
                offset = -(-end // align) * align
            fields.append((offset, size, given))
            end = offset + size
        return fields


def _window(given: Mapping[str, Any]) -> tuple[list[int], list[int], int, int, Optional[str]]:
    """What a map in im2col mode says, the innermost dimension first."""
    least, most = -(2**31), 2**31 - 1

    def corner(name: str) -> list[int]:
        return [_number(it, f"{name}_corner", most, least) for it in reversed(given[name])]

    channels, pixels = (_number(given[name], name, 2**32 - 1) for name in ("channels", "pixels"))
    if given["wide"] is not None and not isinstance(given["wide"], str):
        raise LaunchError(f"`wide` of a tensor map is a word, not {given['wide']!r}")
    return corner("lower"), corner("upper"), channels, pixels, given["wide"]


def _element_bits(element: str) -> int:
    digits = "".join(it for it in element.split("_")[0].split("x")[0] if it.isdigit())
    if element.startswith("b6"):
        return 6
    if element.startswith(("b4", "e2m1")):
        return 4
    if element.startswith(("e4m3", "e5m2", "ue8m0")):
        return 8
    return 32 if element.startswith("tf32") else int(digits or 8)


class Device:
    """The memory that kernels run in: arrays, and the variables of the modules whose kernels ran here.

    `launch` without a device uses one for the whole process. Launches on one device wait for each other; different
    devices run side by side in different threads.
    """

    def __init__(self) -> None:
        self._core = _core.Device()

    def __reduce__(self) -> Any:
        raise TypeError("a Device has memory of its own, and has no copy: make another one by `Device()`")

    def upload(self, array: Any) -> DeviceArray:
        """Copies an array to the device. Launches that take it leave their results there."""
        view = ByteView.of(array)
        address = self._core.allocate("an array of the device", int(view.bytes.size))
        result = DeviceArray(self, address, (view.dtype, view.itemsize, view.shape))
        self._core.write(address, view.bytes)
        return result

    def empty(self, shape: Union[int, Sequence[int]], dtype: Any) -> DeviceArray:
        """An array on the device whose contents are not known: what a kernel makes of them is not known, either."""
        import numpy as np

        kind = np.dtype(dtype)
        if kind.hasobject or kind.byteorder == ">":
            raise LaunchError(f"a device has no arrays of {kind!r}")
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        sizes = tuple(_number(it, "shape") for it in given)
        size = kind.itemsize
        for it in sizes:
            size *= it
        address = self._core.allocate("an array of the device", size)
        return DeviceArray(self, address, (kind.name, kind.itemsize, sizes))

    def launch(
        self,
        config: LaunchConfig,
        kernel: Kernel,
        *args: Any,
        stream: object = None,
        strict: bool = False,
        runs: int = 0,
        schedule: str = "early",
        seed: int = 1,
        numbers: str = "exact",
        checks: str = "all",
        record: bool = False,
        clusters: Union[None, int, range, tuple[int, int]] = None,
        budget: Optional[int] = None,
        names: Optional[Mapping[str, str]] = None,
    ) -> Run:
        """Runs a kernel, and writes the arrays among its arguments back in place.

        Args:
            config: How large the launch is.
            kernel: The kernel.
            args: The arguments, one for each parameter: arrays (of numpy, or what shares its memory with it, such as
                torch on the CPU), numbers, bytes, `None` for a null pointer, `TensorMap`, `Struct`, `Packed` and
                `DeviceArray`.
            stream: Taken, and ignored.
            strict: Demand `tcgen05.wait::ld` before registers are used that were loaded.
            runs: Run it under so many random schedules, from that of `seed` on; results are those of the first.
            schedule: When asynchronous operations take effect: `early`, `late` or `random`.
            seed: Which of the random schedules.
            numbers: `exact` computes what the card would, bit for bit as far as that is known; `measured` leaves results
                unknown whose arithmetic nobody has measured.
            checks: `all`, or `none` to compute only.
            record: Keep what happens, for `timeline` and `trace`; without it these run the kernel again.
            clusters: Run only these clusters of the grid: a number, a range, or a pair of first and end.
            budget: Warp instructions after which a cluster ends as incomplete.
            names: What arrays are called in findings, by the names of the parameters.

        Raises:
            LaunchError: It cannot be launched like this. What is wrong with the kernel is in the run.
        """
        del stream
        if not isinstance(config, LaunchConfig):
            raise LaunchError(f"the first argument is a LaunchConfig, not a {type(config).__name__}")
        if not isinstance(kernel, Kernel):
            raise LaunchError(f"the second argument is a Kernel, not a {type(kernel).__name__}: `code.get_kernel(name)`")
        for name, value in (("schedule", schedule), ("numbers", numbers), ("checks", checks)):
            if not isinstance(value, str):
                raise LaunchError(f"`{name}` is a word, not {value!r}")
        settings = {
            **config._sizes(),
            "schedule": schedule,
            "seed": _number(seed, "seed"),
            "runs": _number(runs, "runs"),
            "strict": bool(strict),
            "checks": checks,
            "records": bool(record),
            "clusters": _clusters(clusters),
            "budget": None if budget is None else _number(budget, "budget"),
            "numbers": numbers,
        }
        parameters = kernel.parameters
        if names is not None and not isinstance(names, Mapping):
            raise LaunchError(f"`names` is a dictionary from parameters to names, not {names!r}")
        strangers = set(names or {}) - {it.name for it in parameters}
        if strangers:
            raise LaunchError(
                f"`names`: `{kernel.name}` has no parameter `{min(strangers)}`; it has {', '.join(it.name for it in parameters)}"
            )
        if len(args) != len(parameters):
            wanted = ", ".join(it.name for it in parameters)
            raise LaunchError(
                f"`{kernel.name}` has {len(parameters)} parameters ({wanted}), but {len(args)} arguments are given"
            )
        arguments = _Arguments(self, parameters, names or {})
        try:
            converted = [arguments.argument(index, value) for index, value in enumerate(args)]
            core = self._core.launch(kernel._core, settings, converted)
            unknown = [_back(self._core, buffer) for buffer in arguments.buffers]
        finally:
            arguments.close()
        return Run(core, unknown, arguments.arrays)


def _back(core: _core.Device, buffer: _Buffer) -> _Unknown:
    """Writes an array back that a kernel may have written to."""
    view = buffer.view
    if buffer.packed:
        before = buffer.data.copy()
        ranges = core.read_written(buffer.address, buffer.data)
        if (before != buffer.data).any():
            if not view.writable:
                raise LaunchError(_READ_ONLY)
            unpack(buffer.data, view)
        bits = NARROW[view.dtype]
        ranges = [(first * 8 // bits, -(-last * 8 // bits)) for first, last in ranges]
        return _Unknown(view.start, int(view.bytes.size), ranges)
    if not core.is_written(buffer.address):
        # Others may read the array meanwhile.
        ranges = []
    elif view.writable:
        ranges = core.read_written(buffer.address, view.bytes)
    else:
        copy = view.bytes.copy()
        ranges = core.read_written(buffer.address, copy)
        if (copy != view.bytes).any():
            raise LaunchError(_READ_ONLY)
    return _Unknown(view.start, int(view.bytes.size), ranges)


_READ_ONLY = "the kernel writes to an array that is read-only: pass a copy of it"
_device: Optional[Device] = None


def _forget_device() -> None:
    global _device
    _device = None


# A launch in another thread may hold the device when the process is forked: nobody ends it in the child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_device)


def default_device() -> Device:
    """The device of launches that name none."""
    global _device
    if _device is None:
        _device = Device()
    return _device


def launch(
    config: LaunchConfig,
    kernel: Kernel,
    *args: Any,
    device: Optional[Device] = None,
    **options: Any,
) -> Run:
    """Runs a kernel on a device, the one of the process if none is named; see `Device.launch`."""
    if device is not None and not isinstance(device, Device):
        raise LaunchError(f"`device` is a Device, not a {type(device).__name__}")
    return (device or default_device()).launch(config, kernel, *args, **options)
