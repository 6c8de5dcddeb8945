"""Runs the kernels with which the authors of MMA-Sim probe tensor cores, and compares each bit of D with MMA-Sim.

    pip install mmasim==2.1.1 mmasim-kernels==2.1.1      # besides the packages of nvcc
    python python/tests/probes.py                        # all, and a table
    python python/tests/probes.py tcgen05 mxf4           # those with all of these words in their names
    python python/tests/probes.py --repeat 7             # every N for each M

The CUDA sources are those of the package `mmasim-kernels`. nvcc compiles them to PTX, the simulator runs it, and the package
`mmasim` computes the same elements from the same operands. The exit status is 1 if an element differs or is not known, or
if a run has a finding or does not end.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterator

import numpy as np
import torch
from mmasim.nv_ptx.sim import MMA, MMABlockScale, TCGen05MMA, TCGen05MMABlockScale

from ptx_tc import LaunchConfig, cuda, launch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "numbers"))
from record_mmasim import FORMATS, codes, splitmix, tensor  # noqa: E402

#: What is compiled for which target, and what MMA-Sim calls the hardware.
SOURCES = [
    ("Blackwell", "sm_100a", ["tcgen05mma_sm100a", "mma_sm80", "mma_sm75"]),
    ("RTX Blackwell", "sm_120a", ["mma_sm120a", "mma_sm89", "mma_sm80", "mma_sm75"]),
    ("Hopper", "sm_90", ["mma_sm90", "mma_sm80", "mma_sm75"]),
    ("Ada Lovelace", "sm_89", ["mma_sm89", "mma_sm80", "mma_sm75"]),
    ("Ampere", "sm_80", ["mma_sm80", "mma_sm75"]),
]
#: The distributions of the operands: those of the record of MMA-Sim, and numbers at the ends of the formats.
MODES = ["bits", "near", "wide", "cancel", "special"]
#: Launches of an `mma.sync` that are compared at once.
BATCH = 24

# The enumerations of tcgen05mma.h, whose numbers are in the names of the kernels.
KINDS = ["tf32", "f16", "f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"]
TYPES = ["tf32", "f16", "bf16", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
SCALES = ["ue8m0", "ue4m3"]
PRODUCTS = {"tf32": 8, "f16": 16, "f8f6f4": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
WORDS = {"f64": np.uint64, "f32": np.uint32, "tf32": np.uint32, "f16": np.uint16, "bf16": np.uint16}


@dataclass(frozen=True)
class Form:
    """An instruction with its types. M and N are 0 where the kernel is told them."""

    instruction: str
    hardware: str
    target: str
    kind: str
    d: str
    a: str
    b: str
    scale: str
    #: Products that share a scale, or 0.
    block: int
    m: int
    n: int
    k: int

    @property
    def scales(self) -> int:
        """Scales along K."""
        return self.k // self.block if self.block else 0

    @property
    def packed(self) -> bool:
        """Whether a byte has two elements."""
        return self.k == 64

    def name(self, m: int, n: int) -> str:
        """What MMA-Sim calls it."""
        words = [f"m{m}n{n}k{self.k}"]
        words += [f"kind::{self.kind}"] if self.kind else []
        words += [f"block{self.block}"] if self.block else []
        words += [self.d, self.a, self.b]
        words += [self.d] if self.instruction == "mma.sync" else []
        words += [self.scale] if self.block else []
        return ".".join(words)

    @property
    def is_modelled(self) -> bool:
        """Whether MMA-Sim has it: it has no f16 times bf16, which `docs/numbers.md` leaves unknown."""
        return self.kind != "f16" or self.a == self.b

    def __str__(self) -> str:
        name = self.name(self.m, self.n)
        return f"{self.target} {self.instruction} {name if self.m else name.split('.', 1)[1]}"

    @property
    def group(self) -> str:
        """The form without its types, but for those that make the kind."""
        kind = f".kind::{self.kind}" if self.kind else f" {self.a if self.a not in ('e4m3', 'e5m2') else 'fp8'}"
        return f"{self.target} {self.instruction}{kind}"


def form(symbol: str, hardware: str, target: str) -> Form:
    """What a kernel multiplies, from its symbol."""
    if symbol.startswith("mma_"):
        found = re.fullmatch(
            r"mma_m(\d+)n(\d+)k(\d+)(?:_kind_([a-z0-9]+))?(?:_block(\d+))?_([a-z0-9]+)_([a-z0-9]+)_([a-z0-9]+)_\6"
            r"(?:_(ue8m0|ue4m3))?_kernel",
            symbol,
        )
        assert found, symbol
        m, n, k, kind, block, d, a, b, scale = found.groups()
        sizes = int(m), int(n), int(k)
        return Form("mma.sync", hardware, target, kind or "", d, a, b, scale or "", int(block or 0), *sizes)
    found = re.search(r"Kind(\d)EL11TCGen05Type(\d)ELS1_(\d)E(?:([jt])E|Li(\d+)EL16TCGen05ScaleType(\d)E)", symbol)
    assert found, symbol
    kind, a, b, d, block, scale = found.groups()
    kind = KINDS[int(kind)]
    name = "f16" if d == "t" else "f32"
    scaled = SCALES[int(scale)] if scale else ""
    types = TYPES[int(a)], TYPES[int(b)]
    return Form("tcgen05.mma", hardware, target, kind, name, *types, scaled, int(block or 0), 0, 0, PRODUCTS[kind])


def ends(type: str, seed: int, count: int) -> Any:
    """Zeros, subnormal numbers, the least and the largest normal ones, and sometimes infinities and NaNs."""
    exponent, fraction, bias, signed, special = FORMATS[type]
    top, one = (1 << exponent) - 1, 1 << fraction
    largest = (top << fraction | one - 1) - (one if special else int(type in ("e4m3", "ue4m3", "ue8m0")))
    finite = [0, 1, one - 1, one, one + 1, bias << fraction, bias << fraction | one - 1, largest, largest - 1]
    other = [largest + 1, (1 << exponent + fraction) - 1] if type not in ("e3m2", "e2m3", "e2m1") else finite
    r = splitmix(seed, count)
    u = np.uint64
    is_other = (r >> u(40)) % u(97) == u(0)
    code = np.where(is_other, np.array(other, u)[r % u(len(other))], np.array(finite, u)[r % u(len(finite))])
    sign = (r >> u(24) & u(1)) << u(exponent + fraction) if signed else u(0)
    return (code | sign).astype(np.uint32)


def double(mode: str, seed: int, count: int) -> Any:
    """Bit patterns of f64."""
    r, s = splitmix(seed, count), splitmix(seed + 100, count)
    u = np.uint64
    if mode == "special":
        finite = [0, 1, (1 << 52) - 1, 1 << 52, 1023 << 52, (2047 << 52) - 1, (1023 << 52) + 1]
        other = [2047 << 52, (2047 << 52) + 1, (1 << 63) - 1]
        code = np.where((s >> u(9)) % u(97) == u(0), np.array(other, u)[r % u(3)], np.array(finite, u)[r % u(7)])
        return code | (s & u(1)) << u(63)
    if mode == "bits":
        return r
    spread = 100 if mode == "wide" else 5
    return r & u((1 << 63) | (1 << 52) - 1) | (u(1023 - spread // 2) + s % u(spread)) << u(52)


def bits(type: str, mode: str, seed: int, shape: tuple[int, ...]) -> Any:
    """Bit patterns of a type. One is in a word."""
    count = int(np.prod(shape))
    if type == "f64":
        return double(mode, seed, count).reshape(shape)
    made = ends(type, seed, count) if mode == "special" else codes(type, mode, seed, count)
    return made.reshape(shape)


@dataclass
class Operands:
    """The bit patterns of the operands of some multiplies, and their form in the kernels and in MMA-Sim."""

    form: Form
    a: Any
    b: Any
    d: Any
    scales: list[Any]

    @classmethod
    def make(cls, form: Form, mode: str, seed: int, count: int, m: int, n: int) -> Operands:
        k = form.k
        a = bits(form.a, mode, seed, (count, m, k))
        b = bits(form.b, mode, seed + 1, (count, n, k))
        d = bits(form.d, mode, seed + 2, (count, m, n))
        if mode == "cancel":
            # The second half of the products is that of the first, negated, but for the last ones.
            exponent, fraction = FORMATS[form.a][:2] if form.a != "f64" else (11, 52)
            sign = a.dtype.type(1 << (exponent + fraction))
            half = k // 2
            a[..., half : k - 1] = a[..., : half - 1] ^ sign
            b[..., half : k - 1] = b[..., : half - 1]
        sizes = [(count, m, form.scales), (count, n, form.scales)] if form.block else []
        return cls(form, a, b, d, [bits(form.scale, mode, seed + 3 + i, it) for i, it in enumerate(sizes)])

    def bytes(self, code: Any, type: str) -> Any:
        """The operand in the memory of the kernels."""
        if self.form.packed:
            code = code[..., 0::2] << 4 | code[..., 1::2]
        elif type == "e2m1":
            # The four bits of e2m1 are bits 2 to 5 of a byte.
            code = code << 2
        return np.ascontiguousarray(code.astype(WORDS.get(type, np.uint8)))

    def arguments(self, index: int) -> tuple[Any, list[Any]]:
        """D, and what a kernel is launched with."""
        form = self.form
        ab = [self.bytes(it[index], type) for it, type in ((self.a, form.a), (self.b, form.b))]
        c = self.bytes_of_d(self.d[index])
        scales = [it[index].astype(np.uint8) for it in self.scales]
        if form.instruction == "tcgen05.mma":
            return c, [c, *ab, *scales, *c.shape]
        d = np.full_like(c, 0x5A)
        return d, [d, *ab, c, *scales]

    def bytes_of_d(self, code: Any) -> Any:
        return np.ascontiguousarray(code.astype(WORDS[self.form.d]))

    def modelled(self) -> Any:
        """What MMA-Sim computes."""
        form = self.form
        m, n = self.d.shape[1:]
        if form.instruction == "mma.sync":
            operation: Any = (MMABlockScale if form.block else MMA)(form.hardware, form.name(m, n))
        elif form.block:
            operation = TCGen05MMABlockScale(form.hardware, form.name(m, n))
        else:
            operation = TCGen05MMA(form.hardware, form.name(m, n))
        given = [self.tensor(self.bytes(code, type), type) for code, type in ((self.a, form.a), (self.b, form.b))]
        given += [self.tensor(it, form.scale) for it in self.scales]
        along = [it[:, :, None, :] if i % 2 == 0 else it[:, None, :, :] for i, it in enumerate(given)]
        along = [it.expand(-1, m, n, -1) for it in along]
        out = operation.dpa(*along[:2], self.tensor(self.d, form.d), *along[2:]).contiguous()
        types = {"f64": torch.int64, "f32": torch.int32, "f16": torch.int16}
        return out.view(types[form.d]).numpy().view(WORDS[form.d])

    @staticmethod
    def tensor(code: Any, type: str) -> Any:
        if type == "f64":
            return torch.from_numpy(code.view(np.int64)).view(torch.float64)
        return tensor(np.ascontiguousarray(code), type)


@dataclass
class Compared:
    """What the comparison of a form shows."""

    launches: int = 0
    elements: int = 0
    #: NaNs of MMA-Sim among them.
    nans: int = 0
    different: int = 0
    unknown: int = 0
    #: Elements that MMA-Sim does not compute.
    unmodelled: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)

    def is_right(self) -> bool:
        """Whether there is something to compare, and nothing wrong."""
        return not (self.different or self.unknown or self.findings) and self.elements > 0

    def add(self, other: Compared) -> None:
        self.launches += other.launches
        self.elements += other.elements
        self.nans += other.nans
        self.different += other.different
        self.unknown += other.unknown
        self.unmodelled += other.unmodelled
        self.findings += other.findings
        self.first += other.first

    def note(self, text: str) -> None:
        if len(self.first) < 4:
            self.first.append(text)


def is_nan(code: Any, type: str) -> Any:
    exponent, fraction = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10)}[type]
    return (code & code.dtype.type((1 << exponent + fraction) - 1)) > ((1 << exponent) - 1) << fraction


def compare(kernel: Any, form: Form, mode: str, seed: int, count: int, m: int, n: int) -> Compared:
    """Compares some multiplies of a shape with what MMA-Sim computes."""
    operands = Operands.make(form, mode, seed, count, m, n)
    out = Compared(launches=count)
    model = operands.modelled() if form.is_modelled else None
    if model is not None:
        out.elements, out.nans = model.size, int(is_nan(model, form.d).sum())
    config = LaunchConfig(grid=1, block=128 if form.instruction == "tcgen05.mma" else 32)
    for index in range(count):
        d, arguments = operands.arguments(index)
        run = launch(config, kernel, *arguments, schedule="random", seed=seed + index)
        for it in run.findings:
            out.findings[it.code] += 1
            out.note(str(it))
        for reason in run.reasons:
            out.findings["incomplete"] += 1
            out.note(str(reason))
        known = run.known(d)
        if model is None:
            out.unmodelled += d.size
            continue
        out.unknown += int((~known).sum())
        wrong = known & (d != model[index])
        if form.d == "f64":
            # Which NaN the host has computed says nothing.
            wrong &= ~(is_nan(d, form.d) & is_nan(model[index], form.d))
        out.different += int(wrong.sum())
        for row, column in np.argwhere(wrong)[:2]:
            out.note(
                f"{form.name(m, n)}, {mode}, seed {seed}, launch {index}: D[{row}, {column}] is "
                f"{int(d[row, column]):#x}, and {int(model[index][row, column]):#x} in MMA-Sim"
            )
    return out


def kernels(words: list[str]) -> Iterator[tuple[Form, Any]]:
    """The forms with all of these words, and their kernels."""
    spec = importlib.util.find_spec("mmasim_kernels")
    assert spec is not None and spec.submodule_search_locations, "pip install mmasim-kernels==2.1.1"
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "nv_ptx" / "kernels"
    for hardware, target, names in SOURCES:
        if any(word.startswith("sm_") and word != target for word in words):
            continue
        for name in names:
            code = cuda.compile(folder / f"{name}.cu", arch=target, line_info=False)
            for symbol in code.kernels:
                made = form(symbol, hardware, target)
                if all(word in str(made) for word in words):
                    yield made, code.get_kernel(symbol)


def probe(kernel: Any, form: Form, number: int, repeat: int) -> Compared:
    """All launches of one kernel."""
    out = Compared()
    for index in range(repeat * len(MODES)):
        mode = MODES[index % len(MODES)]
        seed = 1 + 8 * BATCH * (number * 1000 + index)
        if form.m:
            out.add(compare(kernel, form, mode, seed, BATCH, form.m, form.n))
            continue
        # Every N comes up, for each M; those that differ in their types begin elsewhere.
        n = 8 * (1 + (11 * index + 5 * number) % 32)
        for m in (128,) if form.block else (64, 128):
            out.add(compare(kernel, form, mode, seed, 1, m, n))
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="run those with all of these in their names")
    parser.add_argument("--repeat", type=int, default=1, help="how often each distribution of operands is used")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start, groups, all_of_them = time.perf_counter(), {}, Compared()
    print(f"{'form':84} {'launches':>8} {'elements':>10} {'different':>9} {'unknown':>7}  findings")

    def row(name: str, of: Compared) -> None:
        found = ", ".join(f"{n} {code}" for code, n in of.findings.items())
        if of.unmodelled:
            name += f" ({of.unmodelled} not in MMA-Sim)" if of.elements else " (not in MMA-Sim)"
        print(f"{name:84} {of.launches:8} {of.elements:10} {of.different:9} {of.unknown:7}  {found or 'none'}", flush=True)

    for number, (form, kernel) in enumerate(kernels(options.words)):
        compared = probe(kernel, form, number, options.repeat)
        row(str(form), compared)
        for text in compared.first[:4]:
            print(f"    {text}", flush=True)
        groups.setdefault(form.group, Compared()).add(compared)
        all_of_them.add(compared)
    print()
    for name, compared in groups.items():
        row(name, compared)
    row("all", all_of_them)
    print(f"{all_of_them.nans} elements are NaN; {time.perf_counter() - start:.0f} s")
    return 0 if all_of_them.is_right() else 1


if __name__ == "__main__":
    sys.exit(main())
