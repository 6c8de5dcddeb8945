"""The kernels that FlashInfer ships as CUDA: some of each directory that has any of tcgen05."""

import pathlib
import re
import sysconfig

from pretend import ARCH, nvcc

SITE = pathlib.Path(sysconfig.get_paths()["purelib"])
DATA = SITE / "flashinfer/data"
KEPT = 4
OPTIONS = [
    "-O3", f"-I{DATA}/include", f"-I{DATA}/csrc", f"-I{DATA}/cutlass/include", f"-I{DATA}/cutlass/tools/util/include",
    f"-I{SITE}/tvm_ffi/include", f"-I{DATA}/spdlog/include", "-DFLASHINFER_ENABLE_F16", "-DFLASHINFER_ENABLE_BF16", "-DFLASHINFER_ENABLE_FP8_E4M3",
]  # fmt: skip

# Lists of modules say which are only for one architecture, and so do names.
LISTS = "".join(path.read_text() for path in (SITE / "flashinfer/jit").rglob("*.py"))
LISTED = {target: set(re.findall(rf'"{target}:[^"]*":\s*\{{\s*"module":\s*"(\w+)"', LISTS)) for target in ("sm100a", "sm103a")}


def is_only_for_103(path):
    name = re.sub(r"_kernel$", "", path.stem)
    listed = name in LISTED["sm103a"] - LISTED["sm100a"]
    return listed or re.search(r"sm_?103", str(path.relative_to(DATA))) is not None


directories = {}
for path in sorted((DATA / "csrc").rglob("*.cu")):
    text = path.read_text()
    # What includes torch are bindings.
    if "tcgen05" in text and "#include <torch/" not in text:
        directories.setdefault(path.parent, []).append((path, text))
for directory, files in directories.items():
    files = [file for file in files if is_only_for_103(file[0]) == (ARCH == "sm_103a")]
    for path, text in files[:: max(1, len(files) // KEPT)][:KEPT]:
        name = str(path.relative_to(DATA / "csrc").with_suffix(""))
        nvcc(text, name[:40] + name[-24:] if len(name) > 64 else name, *OPTIONS, f"-I{path.parent}")
