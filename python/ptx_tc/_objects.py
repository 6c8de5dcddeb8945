"""PTX in what compilers leave: object files, fat binaries, caches."""

from __future__ import annotations

from . import _core


def ptx_of(data: bytes, name: str, module: int = 0) -> str:
    """The PTX that bytes are or hold; of several modules, one."""
    if b"\0" not in data[:4096]:
        if module:
            raise _core.CheckError(f"`{name}` is one module, and there is no number {module}")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise _core.CheckError(f"`{name}` is neither text nor a binary with PTX") from None
    modules = _core.modules_in(data)
    if not modules:
        raise _core.CheckError(
            f"`{name}` has no PTX: compile for `-gencode arch=compute_100a,code=compute_100a`, too, so that nvcc keeps it"
        )
    if not -len(modules) <= module < len(modules):
        raise _core.CheckError(f"`{name}` has {len(modules)} modules of PTX, and no number {module}")
    return modules[module]
