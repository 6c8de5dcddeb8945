"""Calls of the package with what nobody would give it, from several threads. Exceptions are answers; crashes are not.

    python python/fuzz/calls.py --seconds 60 --seed 1

Each round is a seed of its own, and runs in a process of its own, so that a crash says which one it was:

    python python/fuzz/calls.py --round 4711
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import gc
import pickle
import random
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import ml_dtypes
import numpy as np

import ptx_tc
from ptx_tc import Device, LaunchConfig, ObjectCode, Packed, Struct, TensorMap, launch

HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"
#: Kernels that do something with each kind of a parameter.
KERNELS = (
    HEAD
    + """
.visible .global .align 4 .u32 counter = 5;
.visible .entry scale(.param .u64 data, .param .f32 by, .param .u32 count) {
  .reg .b32 t, n; .reg .f32 x, f; .reg .b64 p, at; .reg .pred q;
  ld.param.b64 p, [data];
  ld.param.f32 f, [by];
  ld.param.b32 n, [count];
  mov.u32 t, %tid.x;
  setp.ge.u32 q, t, n;
  @q bra end;
  mad.wide.u32 at, t, 4, p;
  ld.global.f32 x, [at];
  mul.f32 x, x, f;
  st.global.f32 [at], x;
end:
  ret;
}
.visible .entry count(.param .u64 out) {
  .reg .b32 n; .reg .b64 p, c;
  ld.param.b64 p, [out];
  mov.u64 c, counter;
  atom.global.add.u32 n, [c], 1;
  st.global.b32 [p], n;
  ret;
}
.visible .entry fill(.param .align 8 .b8 args[24]) {
  .reg .b32 n; .reg .b64 p; .reg .f32 x;
  ld.param.b64 p, [args];
  ld.param.b32 n, [args+8];
  ld.param.f32 x, [args+12];
  st.global.b32 [p], n;
  st.global.f32 [p+4], x;
  ret;
}
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .u16 half, .param .f64 wide) {
  .reg .b32 s, b; .reg .b64 m; .reg .pred q;
  .shared .align 1024 .b8 tile[8192];
  .shared .align 8 .b64 bar;
  mov.b64 m, map;
  cvta.param.u64 m, m;
  mov.u32 s, tile;
  mov.u32 b, bar;
  mbarrier.init.shared.b64 [b], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [b], 256;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [m, {0, 0}], [b];
wait:
  mbarrier.try_wait.parity.shared.b64 q, [b], 0;
  @!q bra wait;
  ret;
}
.visible .entry spin() { again: bra again; }
"""
)
#: What a call may raise.
ANSWERS = (
    ptx_tc.LaunchError,
    ptx_tc.CheckError,
    ptx_tc.FindingsError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    OverflowError,
    MemoryError,
)
DTYPES = [
    np.float32, np.float16, np.int8, np.uint64, np.complex64, np.bool_, ">f4", "S5", "U3", "M8[s]", "V12", "O",
    [("a", "f4"), ("b", "i2")], ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.int4,
]  # fmt: skip


class Round:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.code = ObjectCode.from_ptx(KERNELS, name="kernels.ptx")
        self.devices = [Device(), Device()]
        self.kept: list[Any] = [np.zeros(64, np.float32), np.zeros((8, 16), np.float16)]
        self.runs: list[Any] = []

    def number(self) -> int:
        pick = self.random
        return pick.choice([0, 1, 2, 3, 7, 16, 31, 32, 128, 255, 256, 1024, 2**16, 2**31, 2**32, 2**63, 2**64, -1, -(2**31)])

    def small(self) -> int:
        return self.random.choice([0, 1, 1, 1, 2, 3, 4, 8, 16, 32, 33])

    def array(self) -> Any:
        pick = self.random
        kind = pick.randrange(10)
        if kind < 3:
            return pick.choice(self.kept)
        shape = tuple(pick.choice([0, 1, 2, 3, 8, 16, 64]) for _ in range(pick.randrange(4)))
        array = np.zeros(shape, pick.choice(DTYPES))
        if kind == 3 and array.ndim:
            array = array[::2]
        elif kind == 4:
            array = array.T
        elif kind == 5:
            array.flags.writeable = False
        elif kind == 6 and array.size:
            array = np.lib.stride_tricks.as_strided(array, (2, *array.shape), (0, *array.strides))
        elif kind == 7:
            array = np.ma.array(np.zeros(8, np.float32))
        elif kind == 8:
            array = memoryview(bytearray(32))
        if pick.random() < 0.3:
            self.kept.append(array)
        return array

    def value(self, depth: int = 0) -> Any:
        pick = self.random
        kinds: list[Callable[[], Any]] = [
            self.array,
            self.array,
            self.number,
            lambda: pick.choice([None, True, 1.5, float("nan"), float("inf"), 1e300, "x", b"1234", bytes(24), bytes(128), object(), [], {}]),
            lambda: pick.choice([np.float32(1), np.int64(-1), np.uint8(3), np.complex64(1), np.str_("a"), np.float16(2), ml_dtypes.bfloat16(1)]),
            lambda: pick.choice(self.devices).upload(self.array()),
            lambda: pick.choice(self.devices).empty(self.small(), pick.choice(DTYPES)),
            lambda: Packed(self.array()),
            self.map,
        ]
        if depth < 2:
            kinds.append(lambda: Struct(*(self.value(depth + 1) for _ in range(pick.randrange(4)))))
            kinds.append(lambda: Struct({self.number(): self.value(depth + 1), 0: self.value(depth + 1)}))
        value = pick.choice(kinds)()
        if pick.random() < 0.1:
            self.kept.append(value)
        return value

    def map(self) -> TensorMap:
        pick = self.random

        def sizes() -> tuple[Any, ...]:
            return tuple(pick.choice([self.small(), self.number()]) for _ in range(pick.randrange(6)))

        options: dict[str, Any] = {}
        for name, some in (
            ("element", ["f16", "f32", "u8", "b4x16", "b4x16_p64", "b6x16_p32", "x", 3]),
            ("fill", ["zero", "nan", "x"]),
            ("interleave", ["none", "16B", "32B", None]),
        ):
            if pick.random() < 0.3:
                options[name] = pick.choice(some)
        for name in ("shape", "strides", "element_strides"):
            if pick.random() < 0.2:
                options[name] = sizes()
        swizzle = pick.choice(["none", "32B", "128B", "128B_ATOM_32B", "x"])
        if pick.random() < 0.3:
            return TensorMap.im2col(
                self.value(2), lower_corner=sizes(), upper_corner=sizes(), channels=self.number(), pixels=self.small(),
                swizzle=swizzle, **options,
            )  # fmt: skip
        box = (8, 16) if pick.random() < 0.5 else sizes()
        return TensorMap(self.kept[1] if pick.random() < 0.5 else self.value(2), box, swizzle, **options)

    def arguments(self, name: str) -> list[Any]:
        """Right ones, of which some are exchanged."""
        kept = self.kept
        right: dict[str, list[Any]] = {
            "scale": [kept[0], 2.0, 32],
            "count": [kept[0]],
            "fill": [Struct(kept[0], np.int32(1), np.float32(2))],
            "load": [TensorMap(kept[1], (8, 16)), kept[0], 3, 2.5],
            "spin": [],
        }
        given = right[name]
        for at in range(len(given)):
            if self.random.random() < 0.3:
                given[at] = self.value()
        if self.random.random() < 0.05:
            given.append(self.value())
        return given

    def launch(self) -> None:
        pick = self.random
        name = pick.choice(["scale", "scale", "count", "fill", "load", "spin"])
        shape: Any = pick.choice([1, 1, 1, (2, 2), self.small(), self.number(), (self.small(),) * 3, "x", None, ()])
        block: Any = pick.choice([32, 32, 1, 64, self.number(), (8, 4), None])
        cluster: Any = pick.choice([None, None, None, 2, self.number()])
        shared: Any = pick.choice([0, 0, 1024, self.number(), "x"])
        options: dict[str, Any] = {"budget": pick.choice([500, 2000, 0, 1])}
        for key, some in (
            ("schedule", ["early", "late", "random", "x", None]),
            ("seed", [0, 1, self.number()]),
            ("runs", [0, 1, 3, -1]),
            ("strict", [True, False, "x"]),
            ("checks", ["all", "none", "x"]),
            ("numbers", ["exact", "measured", 3]),
            ("record", [True, False]),
            ("clusters", [None, 0, (0, 1), range(0, 2), (3, 1), self.number(), "x"]),
            ("names", [None, {"data": "x"}, {"data": 3}, {3: "x"}, "x"]),
        ):
            if pick.random() < 0.15:
                options[key] = pick.choice(some)
        # A grid of millions of clusters is no mistake, and takes its time.
        if isinstance(shape, int) and shape > 1 << 16 and isinstance(block, int) and block > 0:
            options["clusters"] = (0, 2)
        device = pick.choice([None, *self.devices])
        run = launch(LaunchConfig(shape, block, cluster, shared), self.code.get_kernel(name), *self.arguments(name), device=device, **options)
        if pick.random() < 0.3:
            self.runs = [*self.runs[-3:], run]

    def look(self) -> None:
        if not self.runs:
            return
        pick, run = self.random, self.random.choice(self.runs)
        pick.choice([
            lambda: run.known(self.value()),
            lambda: run.explain(pick.choice(["data[0]", "data", "x[3, 4]", "data[99]", "[", "", "data[-1]", "args[0]", 3])),
            lambda: run.shared(pick.choice([0, 1, (0, 0), self.number()]), until=pick.choice([None, 5, self.number(), "k:7", "x"])),
            lambda: run.tensor_memory(pick.choice([0, (0, 0, 0), self.number()])),
            lambda: run.timeline(width=pick.choice([100, 0, 1, 10**6])),
            lambda: (str(run), repr(run), run._repr_html_(), run.json, run.reasons, run.statistics, run.printed),
            lambda: [str(it) for it in run.findings],
            lambda: run.raise_for_findings(),
            lambda: pickle.loads(pickle.dumps(run.findings)),
            lambda: copy.deepcopy(run),
        ])()  # fmt: skip

    def module(self) -> None:
        """Texts and bytes that are no modules, or nearly."""
        pick = self.random
        text = KERNELS
        if pick.random() < 0.5:
            for _ in range(pick.randrange(1, 6)):
                at = pick.randrange(len(text))
                piece = pick.choice(["", "{", "}", ";", "\0", "é", ".reg", "ret;", "9" * 30, text[at : at + 40], "\\", '"', "//", "/*"])
                text = text[:at] + piece + text[at + pick.randrange(20) :]
            source: Any = text
        else:
            source = pick.randbytes(pick.randrange(200))
            if pick.random() < 0.5:
                source = bytes.fromhex("50ed55ba") + source
            if pick.random() < 0.3:
                source += text.encode() + b"\0"
        code = ObjectCode.from_ptx(source, module=pick.choice([0, 0, 1, -1]))
        for name in code.kernels[:3]:
            kernel = code.get_kernel(name)
            values = [self.value() for _ in kernel.parameters]
            launch(LaunchConfig(1, 32), kernel, *values, budget=300)
        ptx_tc.check(source if isinstance(source, str) else source.decode("latin-1"))

    def device(self) -> None:
        pick = self.random
        device = pick.choice(self.devices)
        kept = [it for it in self.kept if isinstance(it, ptx_tc.DeviceArray)]
        pick.choice([
            lambda: device.upload(self.array()),
            lambda: device.empty(pick.choice([self.small(), self.number(), (3, 4), (self.number(), 2)]), pick.choice(DTYPES)),
            lambda: [it.free() for it in kept[:2]],
            lambda: [it.numpy() for it in kept],
            lambda: [it.copy_from(self.array()) for it in kept],
            lambda: [it.copy_to(self.array()) for it in kept],
            lambda: self.devices.__setitem__(0, Device()),
            lambda: device._core.free(self.number()),
            lambda: device._core.read(self.number(), np.zeros(8, np.uint8)),
            lambda: device._core.write(self.number(), np.zeros(8, np.uint8)),
            gc.collect,
        ])()  # fmt: skip

    def descriptors(self) -> None:
        pick = self.random
        pick.choice([
            lambda: ptx_tc.decode_idesc(self.number(), kind=pick.choice(["f16", "mxf4", "i8", "x"])),
            lambda: ptx_tc.decode_smem(self.number()),
            lambda: ptx_tc.decode_zero_mask(self.number(), m=self.number(), n=self.small()),
            lambda: ptx_tc.encode_idesc(kind="f16", dtype="f32", a="bf16", b="bf16", m=self.number(), n=self.number()),
            lambda: ptx_tc.encode_smem(start=self.number(), swizzle=pick.choice(["128B", "x", 3]), sbo=self.number()),
            lambda: ptx_tc.encode_smem("bf16", "128x64", pick.choice(["k-major", "mn-major", "x"]), swizzle="128B"),
        ])()  # fmt: skip

    def step(self) -> None:
        steps = [self.launch] * 6 + [self.look] * 2 + [self.module, self.device, self.descriptors]
        try:
            self.random.choice(steps)()
        except ANSWERS as error:
            # A bug says so.
            assert "has a bug" not in str(error) and "panicked" not in str(error), error
        del self.kept[2 + 40 :]


def run_round(seed: int, steps: int) -> None:
    faulthandler.enable()
    faulthandler.dump_traceback_later(300, exit=True)
    wrong: list[BaseException] = []
    first = Round(seed)

    def work(number: int) -> None:
        try:
            own = Round(seed * 4 + number)
            # The module and a device belong to all threads.
            own.code, own.devices[1] = first.code, first.devices[1]
            for _ in range(steps):
                own.step()
        except BaseException as error:  # noqa: BLE001 -- it goes to the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--steps", type=int, default=200, help="calls of a thread in a round")
    parser.add_argument("--round", type=int, help="run this round alone, in this process")
    options = parser.parse_args()
    if options.round is not None:
        run_round(options.round, options.steps)
        return 0
    end, seed, bad = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        command = [sys.executable, __file__, "--round", str(seed), "--steps", str(options.steps)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            bad += 1
            print(f"round {seed}: exit status {done.returncode}\n{done.stderr[-4000:]}", flush=True)
        seed += 1
    print(f"{seed - options.seed} rounds, {bad} of them wrong; the last is {seed - 1}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
