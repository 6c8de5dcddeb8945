"""Arrays as bytes: of numpy, and of what shares its memory with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from ._core import LaunchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def is_array(value: Any) -> bool:
    """Whether a value is an array, and no scalar."""
    if hasattr(value, "__array_interface__") or hasattr(value, "__cuda_array_interface__"):
        return not _is_scalar(value)
    return hasattr(value, "__dlpack__")


def _is_scalar(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.generic)


@dataclass(frozen=True)
class ByteView:
    """The bytes of an array, which it shares."""

    #: All bytes, in the order of C.
    bytes: NDArray[np.uint8]
    #: The name of the type of its elements, if there is one.
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    #: The array itself.
    owner: Any

    @property
    def start(self) -> int:
        """The address of the first byte on this machine."""
        return int(self.bytes.__array_interface__["data"][0])

    @property
    def writable(self) -> bool:
        return bool(self.bytes.flags.writeable)

    @property
    def form(self) -> tuple[str, list[int]]:
        """Type and shape, as the native part wants them."""
        return self.dtype, list(self.shape)

    @classmethod
    def of(cls, value: Any) -> ByteView:
        """The bytes of an array.

        Raises:
            LaunchError: It is on a GPU, its elements do not lie next to each other, or it has none that are numbers.
        """
        import numpy as np

        dtype: Optional[str] = None
        array: Any
        if isinstance(value, np.ndarray):
            # Of matrices and masked arrays, the numbers.
            array = np.asarray(value)
        elif type(value).__module__.partition(".")[0] == "torch":
            array, dtype = _of_torch(value)
        elif hasattr(value, "__array_interface__"):
            array = np.asarray(value)
        elif hasattr(value, "__dlpack__"):
            try:
                array = np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError) as error:
                raise LaunchError(f"an array of {type(value).__module__} cannot be read: {error}") from None
        elif hasattr(value, "__cuda_array_interface__"):
            raise LaunchError("an array is on a GPU: pass one on the CPU")
        else:
            raise LaunchError(f"a {type(value).__name__} is no array")
        if array.dtype.hasobject:
            raise LaunchError("an array holds Python objects: pass one of numbers")
        if not array.flags.c_contiguous:
            raise LaunchError(
                f"the elements of an array of shape {array.shape} do not lie next to each other: pass "
                "`numpy.ascontiguousarray(a)`, which is a copy, or the array that it is a part of"
            )
        if array.dtype.byteorder == ">":
            raise LaunchError("an array has big-endian numbers: pass `a.astype(a.dtype.newbyteorder('<'))`")
        flat = array.reshape(-1).view(np.uint8)
        itemsize = int(array.dtype.itemsize)
        if dtype is not None:
            # What numpy has no type for was viewed as integers of the same size.
            return cls(flat, dtype, itemsize, tuple(array.shape), value)
        return cls(flat, array.dtype.name, itemsize, tuple(array.shape), value)


def _of_torch(tensor: Any) -> tuple[Any, Optional[str]]:
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise LaunchError(f"a {type(tensor).__name__} is no array")
    if tensor.device.type != "cpu":
        raise LaunchError(f"a tensor is on {tensor.device}: pass one on the CPU")
    if not tensor.is_contiguous():
        raise LaunchError(
            f"the elements of a tensor of shape {tuple(tensor.shape)} do not lie next to each other: pass `t.contiguous()`"
        )
    plain = tensor.detach()
    try:
        return plain.numpy(), None
    except TypeError:
        same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[plain.element_size()]
        return plain.view(same).numpy(), str(plain.dtype).rpartition(".")[2]


#: Types of `ml_dtypes` whose elements are narrower than the byte that they take: their bits.
NARROW = {
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
}


def pack(view: ByteView) -> NDArray[np.uint8]:
    """The elements next to each other, the first in the lowest bits."""
    import numpy as np

    bits = NARROW[view.dtype]
    planes = np.unpackbits(view.bytes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return np.packbits(planes.reshape(-1), bitorder="little")


def unpack(packed: NDArray[np.uint8], view: ByteView) -> None:
    """The opposite: writes the elements of `view`."""
    import numpy as np

    bits, count = NARROW[view.dtype], view.bytes.size
    planes = np.unpackbits(packed, bitorder="little")[: count * bits].reshape(count, bits)
    full = np.zeros((count, 8), dtype=np.uint8)
    full[:, :bits] = planes
    if view.dtype.startswith("int"):
        # A negative number has its sign in all bits of its byte.
        full[:, bits:] = planes[:, bits - 1 : bits]
    view.bytes[:] = np.packbits(full, axis=1, bitorder="little").reshape(-1)
