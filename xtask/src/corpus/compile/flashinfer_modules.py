"""The kernels that FlashInfer ships as CUDA: some of each directory that has any of tcgen05."""

import pathlib
import sysconfig

from pretend import ARCH, nvcc

SITE = pathlib.Path(sysconfig.get_paths()["purelib"])
DATA = SITE / "flashinfer/data"
KEPT = 4
OPTIONS = [
    "-O3", f"-I{DATA}/include", f"-I{DATA}/csrc", f"-I{DATA}/cutlass/include", f"-I{DATA}/cutlass/tools/util/include",
    f"-I{SITE}/tvm_ffi/include", f"-I{DATA}/spdlog/include", "-DFLASHINFER_ENABLE_F16", "-DFLASHINFER_ENABLE_BF16", "-DFLASHINFER_ENABLE_FP8_E4M3",
]  # fmt: skip

directories = {}
for path in sorted((DATA / "csrc").rglob("*.cu")):
    text = path.read_text()
    # What includes torch are bindings.
    if "tcgen05" in text and "#include <torch/" not in text:
        directories.setdefault(path.parent, []).append((path, text))
for directory, files in directories.items():
    other = "sm_103" if ARCH == "sm_100a" else "sm_100"
    files = [(path, text) for path, text in files if other not in str(path.relative_to(DATA))]
    if ARCH != "sm_100a":
        files = [(path, text) for path, text in files if ARCH in str(path)]
    for path, text in files[:: max(1, len(files) // KEPT)][:KEPT]:
        name = str(path.relative_to(DATA / "csrc").with_suffix(""))
        nvcc(text, name[:40] + name[-24:] if len(name) > 64 else name, *OPTIONS, f"-I{path.parent}")
