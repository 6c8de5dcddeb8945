"""Copies: of arrays, which are made once in each direction, and of objects, which other processes get."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import ptx_tc
from ptx_tc import Device, LaunchConfig, ObjectCode, Packed, Struct, TensorMap, launch
from test_launch import HEAD, ONE, SCALE


class Counted:
    """A native device that counts the bytes that go in and out."""

    def __init__(self, core) -> None:
        self.core, self.written, self.read = core, [], []

    def write(self, address, data):
        self.written.append(data.size)
        return self.core.write(address, data)

    def read_written(self, address, data):
        self.read.append(data.size)
        return self.core.read_written(address, data)

    def __getattr__(self, name):
        return getattr(self.core, name)


ADD = HEAD + """
.visible .entry add(.param .u64 a, .param .u64 b) {
  .reg .b32 t; .reg .f32 x; .reg .b64 p, q;
  ld.param.b64 p, [a];
  ld.param.b64 q, [b];
  mov.u32 t, %tid.x;
  mad.wide.u32 p, t, 4, p;
  mad.wide.u32 q, t, 4, q;
  ld.global.f32 x, [p];
  st.global.f32 [q], x;
  ret;
}
"""


def test_arrays_are_copied_once_in_each_direction() -> None:
    kernel = ObjectCode.from_ptx(ADD).get_kernel("add")
    device = Device()
    device._core = counted = Counted(device._core)
    a, b = np.ones(1 << 18, np.float32), np.zeros(1 << 20, np.float32)
    device.launch(ONE, kernel, a, b)
    # What is only read does not come back.
    assert sorted(counted.written) == sorted([a.nbytes, b.nbytes]) and counted.read == [b.nbytes]
    # The same array twice is one buffer.
    counted.written.clear(), counted.read.clear()
    device.launch(ONE, kernel, a, a)
    assert counted.written == [a.nbytes] and counted.read == [a.nbytes]
    # Arrays of the device stay there.
    counted.written.clear(), counted.read.clear()
    x, y = device.upload(a), device.empty(64, np.float32)
    device.launch(ONE, kernel, x, y)
    assert counted.written == [a.nbytes] and counted.read == []


def test_no_copy_is_made_in_python() -> None:
    kernel = ObjectCode.from_ptx(ADD).get_kernel("add")
    a, b = np.ones(1 << 21, np.float32), np.zeros(1 << 21, np.float32)
    launch(ONE, kernel, a, b)
    tracemalloc.start()
    try:
        launch(ONE, kernel, a, b)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # numpy tells of each allocation.
    assert peak < a.nbytes // 8, peak


def both(value):
    return copy.deepcopy(value), pickle.loads(pickle.dumps(value))


def test_descriptions_can_be_copied() -> None:
    a = np.arange(64, dtype=np.float16).reshape(8, 8)
    for config in both(LaunchConfig(grid=(2, 3), block=32, cluster=2, shmem_size=5)):
        assert config == LaunchConfig(grid=(2, 3), block=32, cluster=2, shmem_size=5)
    for map in both(TensorMap(a, (8, 8), "128B", fill="nan")):
        assert (map.box, map.swizzle, map.fill) == ((8, 8), "128B", "nan") and (map.array == a).all()
        assert map.array is not a
    window = TensorMap.im2col(a.reshape(1, 8, 8), lower_corner=(-1,), upper_corner=(0,), channels=8, pixels=4)
    for map in both(window):
        assert map._window == window._window
    for struct in both(Struct(a, np.int32(5))):
        assert (struct.fields[0][1] == a).all() and struct.fields[1][1] == 5
    import ml_dtypes

    for packed in both(Packed(np.zeros(4, ml_dtypes.float4_e2m1fn))):
        assert packed.array.shape == (4,)


def test_findings_can_be_copied() -> None:
    kernel = ObjectCode.from_ptx(SCALE, name="scale.ptx").get_kernel("scale")
    run = launch(ONE, kernel, np.ones(8, np.float32), 2.0, 32)
    for finding in both(run.findings[0]):
        assert finding == run.findings[0] and str(finding) == str(run.findings[0]) and "SIM501" in str(finding)
    report = ptx_tc.check(HEAD + ".entry k() { tcgen05.wait::ld.sync; }\n")
    for copied in both(report):
        assert list(copied) == list(report) and str(copied) == str(report) and len(copied.errors) == 1
    for reason in both(launch(ONE, kernel, np.ones(8, np.float32), 2.0, 4, budget=1).reasons):
        assert reason[0].message


def test_modules_and_errors_can_be_sent() -> None:
    code = ObjectCode.from_ptx(SCALE, name="scale.ptx")
    for sent in both(code):
        assert sent.name == "scale.ptx" and sent.code == code.code
    for kernel in both(code.get_kernel("scale")):
        data = np.ones(4, np.float32)
        launch(ONE, kernel, data, 2.0, 4).raise_for_findings()
        assert (data == 2).all()
    with pytest.raises(ptx_tc.FindingsError) as error:
        launch(ONE, code.get_kernel("scale"), np.ones(8, np.float32), 2.0, 32).raise_for_findings()
    sent = pickle.loads(pickle.dumps(error.value))
    assert str(sent) == str(error.value) and sent.run is None
    assert sent.findings == error.value.findings and sent.findings[0].code == "SIM501"
    for error in (ptx_tc.LaunchError("no"), ptx_tc.CheckError("no")):
        assert str(pickle.loads(pickle.dumps(error))) == "no"


def test_what_has_memory_has_no_copy() -> None:
    device = Device()
    run = launch(ONE, ObjectCode.from_ptx(SCALE).get_kernel("scale"), np.ones(4, np.float32), 2.0, 4)
    for value, why in ((device, "Device()"), (device.upload(np.ones(4)), "numpy()"), (run, "run.findings")):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError) as error:
                make(value)
            assert why in str(error.value)
