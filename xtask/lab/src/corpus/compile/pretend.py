"""A machine without a GPU that looks to compilers of kernels as if it had one.

Packages compile their kernels when they are called. Here torch says that its tensors, which lie in
the memory of the processor, lie on a GPU; Triton, CuTe DSL and nvcc compile for the architecture
that is asked for; and what is compiled is kept instead of launched. What a kernel would have
computed stays what it was.

Where the modules go, the architecture and the toolkit are said by CORPUS_OUT, CORPUS_ARCH and
CORPUS_TOOLKIT. By hand, CORPUS_TRACE shows where a failure comes from, and CORPUS_ONLY, a part of a
name, lets some drivers do less.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import traceback

OUT = pathlib.Path(os.environ["CORPUS_OUT"])
CAPABILITIES = {"sm_100a": (10, 0), "sm_103a": (10, 3), "sm_107a": (10, 7), "sm_110a": (11, 0)}
ARCH = os.environ.get("CORPUS_ARCH", "sm_100a")
CAPABILITY = CAPABILITIES[ARCH]

# Packages are written for these; for what they may run on, too, every third case is enough.
IS_WRITTEN_FOR = ARCH in ("sm_100a", "sm_103a")

os.environ["TORCHDYNAMO_DISABLE"] = "1"
OUT.mkdir(parents=True, exist_ok=True)


class Modules:
    """What is compiled: modules that differ, and that the rules have something to say about."""

    def __init__(self):
        self.known = {self.digest(path.read_text()) for path in OUT.parent.glob("*/*.ptx")}
        self.name = "module"
        self.cases = 0
        self.depth = 0

    @staticmethod
    def digest(text):
        # Names, comments and lines of the source make no other module; another target does.
        text = re.sub(r"//.*|^\s*\.(loc|file|section|version)\b.*", "", text, flags=re.MULTILINE)
        text = re.sub(r"\b\w{24,}\b", "name", text)
        return hashlib.sha1(text.encode()).hexdigest()

    def keep(self, text, name=None):
        text = text.rstrip("\0")
        if "tcgen05" not in text:
            return False
        digest = self.digest(text)
        if digest in self.known:
            return False
        self.known.add(digest)
        stem = re.sub(r"[^A-Za-z0-9]+", "_", name or self.name).strip("_")[:80]
        path = OUT / f"{stem}.ptx"
        number = 1
        while path.exists():
            number += 1
            path = OUT / f"{stem}_{number}.ptx"
        path.write_text(text)
        print("compiled", path.name, len(text), flush=True)
        return True


modules = Modules()


class SkippedError(Exception):
    """This case is not compiled for this architecture."""


def skip():
    """Ends a case that is not compiled."""
    if not IS_WRITTEN_FOR and modules.cases % 3 != 1:
        raise SkippedError


@contextlib.contextmanager
def case(name):
    """What is compiled here has this name; what goes wrong here is said and left."""
    modules.name = f"{name}_{ARCH}"
    modules.cases += not modules.depth
    modules.depth += 1
    try:
        yield
    except SkippedError:
        pass
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        print(f"FAILED {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        if os.environ.get("CORPUS_TRACE"):
            traceback.print_exc()
    finally:
        modules.depth -= 1


# nvcc


def toolkit():
    root = pathlib.Path(os.environ["CORPUS_TOOLKIT"])
    return next(path.parent.parent for path in root.rglob("nvcc") if path.parent.name == "bin")


def nvcc(text, name, *options, suffix=".cu"):
    """Compiles a text of CUDA and keeps the module."""
    target = OUT / (re.sub(r"[^A-Za-z0-9]+", "_", f"{name}_{ARCH}").strip("_")[:80] + ".ptx")
    if target.exists():
        return
    home = toolkit()
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / f"kernel{suffix}"
        source.write_text(text)
        output = source.with_suffix(".ptx")
        command = [
            home / "bin/nvcc", f"-arch={ARCH}", "-ptx", "-w", "-std=c++20", "--expt-relaxed-constexpr",
            f"-I{home}/include", f"-I{home}/include/cccl", *options, source, "-o", output,
        ]  # fmt: skip
        with case(name):
            skip()
            result = subprocess.run(command, capture_output=True, text=True, timeout=900)
            if result.returncode:
                errors = [line for line in result.stderr.splitlines() if "error" in line] or [result.stderr]
                raise RuntimeError(errors[0])
            modules.keep(output.read_text())


# torch


def torch_on_a_gpu():
    """Tensors say that they lie on a GPU."""
    import torch
    import torch._dynamo  # looks at what torch is made of, so before that is changed

    gpu = torch.device("cuda", 0)
    cpu = torch.device("cpu")

    def is_gpu(value):
        return isinstance(value, torch.device) and value.type == "cuda" or isinstance(value, str) and value.startswith("cuda")

    def move(value):
        return cpu if is_gpu(value) else value

    def moved(function):
        """The function, with the processor where a GPU is asked for."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            kwargs = {key: move(value) for key, value in kwargs.items() if key not in ("pin_memory", "generator")}
            return function(*map(move, args), **kwargs)

        return wrapper

    factories = """arange as_tensor asarray empty empty_like empty_permuted empty_strided eye from_numpy full full_like linspace
        ones ones_like rand rand_like randint randint_like randn randn_like randperm tensor zeros zeros_like""".split()
    for name in factories:
        setattr(torch, name, moved(getattr(torch, name)))
    Tensor = torch.Tensor
    for name in "to type new_empty new_empty_strided new_full new_ones new_tensor new_zeros".split():
        setattr(Tensor, name, moved(getattr(Tensor, name)))
    real = Tensor.device

    def device(self):
        # A tensor that has no data is what torch makes a fake one of, and it asks whether it is.
        found = real.__get__(self)
        return found if found.type == "meta" else gpu

    Tensor.device = property(device)
    Tensor.is_cuda = property(lambda self: True)
    Tensor.is_cpu = property(lambda self: False)
    Tensor.get_device = lambda self: 0
    for name in "cuda pin_memory record_stream".split():
        setattr(Tensor, name, lambda self, *_, **__: self)

    # Operations of GPUs are those of the processor.
    library = torch.library
    implement, operation = library.Library.impl, library.custom_op

    def impl(self, name, function, dispatch_key="", **kwargs):
        return implement(self, name, function, "CPU" if dispatch_key == "CUDA" else dispatch_key, **kwargs)

    library.Library.impl = impl
    library.custom_op = lambda *args, device_types=None, **kwargs: operation(*args, **kwargs)

    class Properties:
        name = "NVIDIA B200"
        major, minor = CAPABILITY
        multi_processor_count = 148
        total_memory = 192 << 30
        max_threads_per_multi_processor = 2048
        shared_memory_per_block_optin = 232448
        shared_memory_per_multiprocessor = 233472
        L2_cache_size = 126 << 20
        warp_size = 32
        regs_per_multiprocessor = 65536
        gcnArchName = ""
        uuid = "GPU"

    class Stream:
        cuda_stream = 0
        device = gpu
        device_index = 0

        def __getattr__(self, name):
            return lambda *_, **__: None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def nothing(*_, **__):
        pass

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.init = cuda._lazy_init = nothing
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = cuda.synchronize = cuda.empty_cache = nothing
    cuda.get_device_capability = lambda *_: CAPABILITY
    cuda.get_device_properties = lambda *_: Properties()
    cuda.get_device_name = lambda *_: Properties.name
    cuda.current_stream = cuda.default_stream = lambda *_: Stream()
    cuda.Stream = Stream
    cuda.Event = lambda *_, **__: Stream()
    cuda.is_current_stream_capturing = lambda: False
    cuda.can_device_access_peer = lambda *_: True
    cuda.get_arch_list = lambda: [ARCH]
    cuda.device = lambda *_: contextlib.nullcontext()
    cuda.device_of = lambda *_: contextlib.nullcontext()
    cuda.stream = lambda *_: contextlib.nullcontext()
    cuda.manual_seed = cuda.manual_seed_all = nothing
    torch._C._cuda_getCurrentRawStream = lambda *_: 0
    torch._C._cuda_getDevice = lambda *_: 0
    torch._C._cuda_setDevice = torch._C._cuda_synchronize = nothing
    torch.version.cuda = "13.0"
    return torch


def as_on_gpu(capsule):
    """Writes a GPU's number where a capsule of DLPack has the device."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    for name, offset in ((b"dltensor", 8), (b"dltensor_versioned", 40)):
        if is_valid(capsule, name):
            device = (ctypes.c_int32 * 2).from_address(pointer(capsule, name) + offset)
            device[0], device[1] = 2, 0
    return capsule


# Triton


def triton_without_launch(every_configuration=4):
    """Kernels in Triton are compiled for the architecture, and not launched."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import compiler
    from triton.runtime import autotuner, driver, jit

    number = CAPABILITY[0] * 10 + CAPABILITY[1]

    class Utils:
        def __getattr__(self, name):
            if name == "get_device_properties":
                return lambda *_: {
                    "max_shared_mem": 232448, "multiprocessor_count": 148, "max_num_regs": 65536, "warpSize": 32,
                    "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1,
                }  # fmt: skip
            return lambda *_, **__: None

    class Driver:
        utils = Utils()
        binary_ext = "cubin"

        def get_current_target(self):
            return GPUTarget("cuda", number, 32)

        def get_current_device(self):
            return 0

        def get_current_stream(self, *_):
            return 0

        def set_current_device(self, *_):
            pass

        def get_active_torch_device(self):
            import torch

            return torch.device("cuda", 0)

        def get_device_interface(self):
            import torch

            return torch.cuda

        def get_benchmarker(self):
            return lambda *_, **__: [1.0, 1.0, 1.0]

        def map_python_to_cpp_type(self, kind):
            return kind

        def launcher_cls(self, *_):
            return lambda *_, **__: None

    driver.set_active(Driver())

    # The assembler is asked later, about the modules that are kept.
    from triton.backends.nvidia.compiler import CUDABackend

    def make_cubin(self, source, metadata, options, *_):
        names = re.findall(r"\.visible \.entry (\w+)", source)
        metadata["name"] = names[0] if names else "kernel"
        modules.keep(source, f"{modules.name}_{metadata['name']}" if modules.name else metadata["name"])
        return b""

    CUDABackend.make_cubin = make_cubin
    add_stages = CUDABackend.add_stages

    def unless_skipped(*args, **kwargs):
        skip()
        add_stages(*args, **kwargs)

    CUDABackend.add_stages = unless_skipped
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

    def nothing(self, *_, **__):
        return self

    compiler.CompiledKernel._init_handles = nothing
    compiler.CompiledKernel.__getitem__ = lambda self, grid: lambda *_, **__: None
    compiler.CompiledKernel.run = property(lambda self: lambda *_, **__: None)

    def run(self, *args, **kwargs):
        """Some of the configurations that the package tries, all of them compiled."""
        self.nargs = dict(zip(self.arg_names, args))
        chosen = self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs
        step = max(1, len(chosen) // every_configuration)
        result = None
        for config in chosen[::step][:every_configuration]:
            try:
                if config.pre_hook is not None:
                    config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
                result = self.fn.run(*args, **{**kwargs, **config.all_kwargs()})
            except Exception as error:
                print(f"    configuration {config}: {type(error).__name__}: {str(error)[:100]}")
        self.nargs = None
        self.best_config = chosen[0]
        return result

    autotuner.Autotuner.run = run
    return triton


# CuTe DSL


def cute_without_launch():
    """Kernels in CuTe DSL are compiled for the architecture, and not launched."""
    directory = pathlib.Path(tempfile.mkdtemp())
    os.environ["CUTE_DSL_ARCH"] = ARCH
    os.environ["CUTE_DSL_KEEP_PTX"] = "1"
    os.environ["CUTE_DSL_DUMP_DIR"] = str(directory)
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    os.environ["CUTE_DSL_NO_CACHE"] = "1"
    from cutlass.base_dsl import compiler
    from cutlass.cute import runtime
    from cutlass.utils import hardware_info

    def collect():
        found = list(directory.rglob("*.ptx"))
        for path in found:
            modules.keep(path.read_text())
            path.unlink()
        return found

    original = compiler.CompileCallable.__call__

    def compile(self, *args, **kwargs):
        """The text is there before the assembler runs and the program is loaded: what fails is of no interest."""
        skip()
        try:
            original(self, *args, **kwargs)
        except Exception:
            if not collect():
                raise
        else:
            collect()
        return Compiled()

    class Compiled:
        def __call__(self, *_, **__):
            return None

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Compiled()

    compiler.CompileCallable.__call__ = compile
    load = runtime._Tensor.load_dltensor

    def load_dltensor(self):
        if self._dltensor_wrapper is None:
            as_on_gpu(self._dlpack_data)
        load(self)

    runtime._Tensor.load_dltensor = load_dltensor
    info = hardware_info.HardwareInfo
    info.__init__ = lambda self, *_: None
    info.get_max_active_clusters = lambda self, cluster_size=1, *_, **__: 148 // cluster_size
    info.get_device_multiprocessor_count = lambda self: 148
    info.get_l2_cache_size_in_bytes = lambda self: 126 << 20
    return collect
