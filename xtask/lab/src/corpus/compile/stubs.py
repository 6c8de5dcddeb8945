"""Libraries of CUDA for torch that have nothing in them: each function says that there is no GPU.

torch's own libraries name the functions and versions that they want; these libraries have those and
are put beside them. All of CUDA would be gigabytes, and none of it is called.
"""

import pathlib
import re
import subprocess
import sysconfig
import tempfile
from collections import defaultdict

NO_DEVICE = 100
PREFIX = re.compile(r"lib(cu|nccl|nvsh|nvrtc|nvJit)")

libraries = pathlib.Path(sysconfig.get_paths()["purelib"]) / "torch/lib"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    needed, undefined, defined, file_of_version = set(), set(), set(), {}
    for file in libraries.glob("*.so*"):
        if not file.name.startswith(("libtorch", "libc10", "libshm", "libcaffe")):
            continue
        undefined.update(line.split()[-1] for line in output("nm", "-D", "--undefined-only", file).splitlines())
        names = output("nm", "-D", "--defined-only", file).splitlines()
        defined.update(line.split()[-1].partition("@")[0] for line in names)
        needed.update(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", file)))
        wanted = None
        for line in output("readelf", "-VW", file).splitlines():
            if match := re.search(r"File: (\S+)", line):
                wanted = match[1]
            elif (match := re.search(r"Name: (\S+)", line)) and wanted:
                file_of_version[match[1]] = wanted
    stubs = {name: defaultdict(set) for name in needed if PREFIX.match(name)}
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        version = version.lstrip("@")
        if name in defined:
            continue
        if version and file_of_version.get(version) in stubs:
            stubs[file_of_version[version]][version].add(name)
        elif not version and re.match(r"cu|nccl|nvsh|nvrtc|nvJit|nvml|__cuda", name):
            stubs["libcudart.so.13"][""].add(name)
    for library, versions in stubs.items():
        write(library, versions)


def write(library, versions):
    code, script = "", ""
    for version, names in versions.items():
        for name in sorted(names):
            is_text = re.search(r"Error(String|Name)$", name)
            code += f'const char *{name}(void) {{ return "none"; }}\n' if is_text else f"int {name}(void) {{ return {NO_DEVICE}; }}\n"
        if version:
            script += f"{version} {{ global: {' '.join(f'{name};' for name in sorted(names))} }};\n"
    with tempfile.TemporaryDirectory() as directory:
        source, map_file = pathlib.Path(directory, "stub.c"), pathlib.Path(directory, "stub.map")
        source.write_text(code)
        map_file.write_text(script)
        options = [f"-Wl,--version-script={map_file}"] if script else []
        command = ["cc", "-w", "-shared", "-fPIC", "-o", libraries / library, f"-Wl,-soname,{library}", source, *options]
        subprocess.run(command, check=True)


main()
