"""Unpacks the sources in the wheels of a directory."""

import pathlib
import sys
import zipfile

ENDINGS = tuple(
    ".cu .cuh .c .h .cc .hh .cpp .hpp .cxx .hxx .inl .ipp .tpp .py .ll .llir .mlir .ttir .ttgir .rs .mojo .ptx".split()
)

downloads, directory = map(pathlib.Path, sys.argv[1:])
directory.mkdir(parents=True)
for path in sorted(downloads.glob("*.whl")):
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            # Headers of C++ have no ending, too: those that have one are enough.
            if name.lower().endswith(ENDINGS):
                archive.extract(name, directory)
