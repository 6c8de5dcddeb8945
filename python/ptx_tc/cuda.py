"""Kernels of CUDA C++: compiled by nvcc or NVRTC, whichever is installed.

    code = ptx_tc.cuda.compile("gemm.cu", arch="sm_100a")
    kernel = code.get_kernel("gemm")

Both compilers are in the package index: `pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-nvvm nvidia-cuda-crt
nvidia-cuda-runtime`, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime`.
"""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Iterator, Optional, Sequence, Union

from ._launch import ObjectCode


class CompileError(Exception):
    """A compiler refuses the source, or there is none. Its text is what the compiler says."""


def _packages() -> Iterator[str]:
    """The folders of NVIDIA's packages in this environment."""
    for path in sys.path:
        yield from sorted(glob.glob(os.path.join(path, "nvidia", "cu*")), reverse=True)
        for name in ("cuda_nvcc", "cuda_nvrtc", "cuda_runtime"):
            folder = os.path.join(path, "nvidia", name)
            if os.path.isdir(folder):
                yield folder


def find_nvcc() -> Optional[str]:
    """The path of nvcc: of `CUDA_HOME`, of the package index, or on the path."""
    name = "nvcc.exe" if os.name == "nt" else "nvcc"
    homes = [it for it in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if it]
    for home in (*homes, *_packages()):
        path = os.path.join(home, "bin", name)
        if os.path.isfile(path):
            return path
    return shutil.which("nvcc")


def find_nvrtc() -> Optional[str]:
    """The path of the library of NVRTC."""
    for home in (*_packages(), *(it for it in (os.environ.get("CUDA_HOME"),) if it)):
        for pattern in ("lib/libnvrtc.so.*", "lib64/libnvrtc.so*", "bin/nvrtc64_*_0.dll"):
            found = [it for it in glob.glob(os.path.join(home, pattern)) if "alt" not in it]
            if found:
                return found[0]
    return None


def _include_folders() -> list[str]:
    return [path for path in (os.path.join(it, "include") for it in _packages()) if os.path.isdir(path)]


def compile(
    source: Union[str, os.PathLike[str]],
    *,
    arch: str = "sm_100a",
    options: Sequence[str] = (),
    compiler: Optional[str] = None,
    name: Optional[str] = None,
    line_info: bool = True,
) -> ObjectCode:
    """Compiles CUDA C++ to PTX.

    Args:
        source: The path of a file, or the source itself.
        arch: The target.
        options: Options of the compiler, such as `-I include` or `-DSTAGES=4`.
        compiler: `nvcc` or `nvrtc`; otherwise the one that is installed, nvcc first.
        name: What the source is called in findings.
        line_info: Whether findings name lines of the source.

    Raises:
        CompileError: The compiler refuses the source, or none is installed.
    """
    suffixes = (".cu", ".cuh", ".cpp", ".cc", ".cxx")
    is_path = isinstance(source, os.PathLike) or "\n" not in source and source.endswith(suffixes)
    if is_path:
        path = os.fspath(source)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise CompileError(f"cannot read `{path}`: {error.strerror}") from None
    else:
        path, text = "", str(source)
    given = [*options, *(["-lineinfo"] if line_info else [])]
    nvcc = find_nvcc() if compiler in (None, "nvcc") else None
    nvrtc = find_nvrtc() if nvcc is None and compiler in (None, "nvrtc") else None
    called = name or (os.path.basename(path) if path else "kernel.cu")
    if nvcc is not None:
        ptx = _by_nvcc(nvcc, path, text, arch, given, called)
    elif nvrtc is not None:
        ptx = _by_nvrtc(nvrtc, path, text, arch, given, called)
    else:
        raise CompileError(
            "no compiler for CUDA is installed: `pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-nvvm nvidia-cuda-crt "
            "nvidia-cuda-runtime`, or `pip install nvidia-cuda-nvrtc`"
        )
    stem = os.path.splitext(called)[0]
    return ObjectCode.from_ptx(ptx, name=f"{stem}.ptx")


def _by_nvcc(nvcc: str, path: str, text: str, arch: str, options: Sequence[str], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        if not path:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        out = os.path.join(folder, "kernel.ptx")
        command = [nvcc, "-ptx", f"-arch={arch}", "-o", out, *options]
        if os.sep + "site-packages" + os.sep in nvcc:
            # In the package index, headers lie in packages of their own.
            command += [it for folder in _include_folders() for it in ("-I", folder)]
        done = subprocess.run([*command, path], capture_output=True, text=True)
        if done.returncode != 0:
            raise CompileError((done.stderr or done.stdout).strip())
        with open(out, "rb") as file:
            return file.read()


def _by_nvrtc(library: str, path: str, text: str, arch: str, options: Sequence[str], name: str) -> bytes:
    nvrtc = ctypes.CDLL(library)
    program = ctypes.c_void_p()

    def check(status: int) -> None:
        if status != 0:
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileError(log.value.decode(errors="replace").strip() or f"NVRTC fails with {status}")

    words = [it if it != "-lineinfo" else "--generate-line-info" for it in options]
    words += [f"--gpu-architecture={arch}", *(f"-I{it}" for it in _include_folders())]
    if path:
        words.append(f"-I{os.path.dirname(os.path.abspath(path))}")
    encoded = (ctypes.c_char_p * len(words))(*(it.encode() for it in words))
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), (path or name).encode(), 0, None, None))
    try:
        check(nvrtc.nvrtcCompileProgram(program, len(words), encoded))
        size = ctypes.c_size_t()
        check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
        ptx = ctypes.create_string_buffer(size.value)
        check(nvrtc.nvrtcGetPTX(program, ptx))
        return ptx.raw.rstrip(b"\0")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
