"""Launches: arguments of each kind, what is written back, and what is refused."""

from __future__ import annotations

import gc
import signal
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import ptx_tc
from ptx_tc import Device, LaunchConfig, LaunchError, ObjectCode, Packed, Pointer, Struct, TensorMap, launch

HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"

SCALE = HEAD + """
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
"""
ONE = LaunchConfig(grid=1, block=32)


@pytest.fixture(scope="module")
def scale() -> ptx_tc.Kernel:
    return ObjectCode.from_ptx(SCALE, name="scale.ptx").get_kernel("scale")


def test_arrays_are_written_back(scale) -> None:
    data = np.arange(32, dtype=np.float32)
    run = launch(ONE, scale, data, 1.5, 32)
    assert run.verdict == "clean" and run.is_clean and run.raise_for_findings() is run
    np.testing.assert_array_equal(data, np.arange(32, dtype=np.float32) * 1.5)
    assert run.known(data).all() and run.known(data).shape == (32,)
    assert run.statistics.clusters == 1 and run.statistics.warp_instructions > 8
    assert "scale: clean" in str(run) and "<strong" in run._repr_html_()
    assert "■" in run.timeline()
    assert run.timeline_svg().startswith("<svg") and "scale" in run.timeline_svg()
    assert "data:image/svg+xml;base64," in run._repr_html_()


def test_parts_of_arrays_are_the_same_memory(scale) -> None:
    whole = np.ones((4, 8), np.float32)
    launch(ONE, scale, whole[1:3], 2.0, 16).raise_for_findings()
    np.testing.assert_array_equal(whole, np.repeat([[1.0], [2.0], [2.0], [1.0]], 8, axis=1))
    # A kernel with two pointers into one array.
    text = SCALE.replace("scale(.param .u64 data", "both(.param .u64 other, .param .u64 data").replace(
        "ld.param.b64 p, [data];", "ld.param.b64 p, [other]; st.global.f32 [p], 0f40400000; ld.param.b64 p, [data];"
    )
    both = ObjectCode.from_ptx(text).get_kernel("both")
    array = np.ones(4, np.float32)
    launch(LaunchConfig(1, 1), both, array, array[:1], 2.0, 1).raise_for_findings()
    assert array[0] == 6.0
    with pytest.raises(LaunchError, match="share a part of their memory"):
        launch(LaunchConfig(1, 1), both, array[:3], array[1:], 2.0, 1)


def test_scalars_are_converted_by_the_parameter(scale) -> None:
    for by in (2, 2.0, np.float32(2), np.float64(2), np.int64(2)):
        for count in (4, np.int32(4), np.uint8(4), True):
            data = np.ones(4, np.float32)
            launch(ONE, scale, data, by, count).raise_for_findings()
            assert data[0] == 2.0 and data[3] == (1.0 if count is True else 2.0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((np.ones(4, np.float32), 1.0), "3 parameters .*but 2 arguments"),
        ((5, 1.0, 1), "the kernel uses it as an address, and 5 is none"),
        ((np.ones(4, np.float32), 1.0, 2**40), "does not fit a number of 32 bits"),
        ((np.ones(4, np.float32), 1.0, -(2**31) - 1), "-2147483648 to 4294967295"),
        ((np.ones(4, np.float32), 1.0, np.array(4)), r"pass its value, `a.item\(\)`"),
        ((np.ones(4, np.float32), 1.0, 1.5), "1.5 is no integer"),
        ((np.ones(4, np.float32), "x", 1), "a str is no argument"),
        ((np.ones(4, np.float32), 1j, 1), "a complex is no argument"),
        ((np.ones(8, np.float32)[::2], 1.0, 1), "numpy.ascontiguousarray"),
        ((np.array([None, 1]), 1.0, 1), "Python objects"),
        ((np.ones(4, ">f4"), 1.0, 1), "big-endian"),
        ((np.ones(4, np.float32), b"123", 1), "has 3 bytes, but the parameter"),
        ((TensorMap(np.ones((8, 8), np.float32), (8, 8)), 1.0, 1), "a tensor map has 128 bytes"),
    ],
)
def test_wrong_arguments_are_refused(scale, arguments, why) -> None:
    with pytest.raises(LaunchError, match=why):
        launch(ONE, scale, *arguments)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (LaunchConfig(grid=1, block=2048), "at most 1024 threads"),
        (LaunchConfig(grid=0, block=32), "greater than 0"),
        (LaunchConfig(grid=(1, 1, 1, 1), block=32), "one to three numbers"),
        (LaunchConfig(grid="x", block=32), "`grid` is a number"),
        (LaunchConfig(grid=1, block=32, shmem_size=1 << 20), "bytes of shared memory"),
        (LaunchConfig(grid=1, block=32, cluster=64), "at most 16 CTAs"),
    ],
)
def test_impossible_shapes_are_refused(scale, config, why) -> None:
    with pytest.raises(LaunchError, match=why):
        launch(config, scale, np.ones(4, np.float32), 1.0, 4)


def test_unknown_names_are_refused(scale) -> None:
    with pytest.raises(LaunchError, match="`scale` is similar"):
        ObjectCode.from_ptx(SCALE).get_kernel("scal")
    with pytest.raises(ptx_tc.CheckError, match="cannot read `missing.ptx`"):
        ObjectCode.from_ptx("missing.ptx")
    with pytest.raises(ptx_tc.CheckError, match="<ptx>:1:1"):
        ObjectCode.from_ptx("hello {\n")
    with pytest.raises(LaunchError, match="no schedule"):
        launch(ONE, scale, np.ones(4, np.float32), 1.0, 4, schedule="soon")


def test_findings_say_where(scale) -> None:
    short = np.ones(8, np.float32)
    run = launch(ONE, scale, short, 2.0, 32)
    assert run.verdict == "findings" and not run.is_clean
    finding = run.findings[0]
    assert (finding.code, finding.path, finding.line) == ("SIM501", "scale.ptx", 14)
    assert "of argument 0 (`data`), which has 32" in str(finding)
    with pytest.raises(ptx_tc.FindingsError, match="SIM501") as error:
        run.raise_for_findings()
    assert error.value.run is run
    assert (short == 2.0).all()


def test_what_is_not_known_is_masked(scale) -> None:
    device = Device()
    with pytest.raises(LaunchError):
        device.launch(ONE, scale, device.upload(np.ones(1, np.float32)), "x", 1)
    empty = device.empty(8, np.float32)
    run = device.launch(ONE, scale, empty, 2.0, 4)
    assert run.verdict in ("clean", "findings")
    target = np.full(8, 7.0, np.float32)
    assert empty.copy_to(target) == [(0, 32)]
    assert (target == 7.0).all()


def test_device_arrays_stay(scale) -> None:
    device = Device()
    buffer = device.upload(np.ones(4, np.float32))
    for _ in range(3):
        device.launch(ONE, scale, buffer, 2.0, 4).raise_for_findings()
    np.testing.assert_array_equal(buffer.numpy(), np.full(4, 8, np.float32))
    with pytest.raises(LaunchError, match="another device"):
        launch(ONE, scale, buffer, 2.0, 4)
    address = buffer.address
    buffer.free()
    with pytest.raises(LaunchError, match="freed"):
        device.launch(ONE, scale, buffer, 2.0, 4)
    assert address != device.upload(np.ones(4)).address


def test_read_only_arrays_may_be_read(scale) -> None:
    data = np.ones(4, np.float32)
    data.flags.writeable = False
    launch(ONE, scale, data, 2.0, 0).raise_for_findings()
    with pytest.raises(LaunchError, match="read-only"):
        launch(ONE, scale, data, 2.0, 4)
    assert (data == 1.0).all()


COUNT = HEAD + """
.visible .global .align 4 .u32 counter = 5;
.visible .entry count(.param .u64 out) {
  .reg .b32 n; .reg .b64 p, c;
  ld.param.b64 p, [out];
  mov.u64 c, counter;
  atom.global.add.u32 n, [c], 1;
  st.global.b32 [p], n;
  ret;
}
"""


def test_variables_of_modules_stay_in_a_device() -> None:
    first, second = (ObjectCode.from_ptx(COUNT).get_kernel("count") for _ in range(2))
    device, out = Device(), np.zeros(1, np.uint32)
    seen = []
    for kernel, where in ((first, device), (first, device), (second, device), (first, device), (first, Device())):
        where.launch(LaunchConfig(1, 1), kernel, out).raise_for_findings()
        seen.append(int(out[0]))
    assert seen == [5, 6, 5, 7, 5]


STRUCT = HEAD + """
.visible .entry fill(.param .align 8 .b8 args[24]) {
  .reg .b32 n; .reg .b64 p; .reg .f32 x;
  ld.param.b64 p, [args];
  ld.param.b32 n, [args+8];
  ld.param.f32 x, [args+12];
  st.global.b32 [p], n;
  st.global.f32 [p+4], x;
  ret;
}
"""


POINTERS = HEAD + """
.visible .entry k(.param .u64 out, .param .u64 all) {
  .reg .b64 p, a, v; .reg .b32 n; .reg .pred q;
  .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;
  ld.param.b64 p, [out]; ld.param.b64 a, [all];
  ld.global.b64 v, [a]; ld.global.b32 n, [v+4]; st.global.b32 [p], n; st.global.b32 [v], n;
  ld.global.b32 n, [a+8]; st.global.b32 [p+4], n;
  mbarrier.init.shared::cta.b64 [bar], 1; fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256; add.u64 a, a, 64;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [a, {0, 1}], [bar];
again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0; @!q bra again;
  ld.shared.b64 v, [tile]; st.global.b64 [p+8], v;
  ret;
}
"""


def test_pointers_to_fields() -> None:
    kernel = ObjectCode.from_ptx(POINTERS).get_kernel("k")
    out, one = np.zeros(4, np.uint32), np.array([1, 5], np.uint32)
    tensor = np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(4, 128)
    fields = Pointer(one, np.int32(9), TensorMap(tensor, (2, 128)))
    launch(LaunchConfig(1, 1), kernel, out, fields).raise_for_findings()
    assert list(out[:2]) == [5, 9] and list(one) == [5, 5]
    assert list(out[2:].view(np.uint8)) == list(range(128, 136))
    # The memory is freed.
    with pytest.raises(LaunchError, match="field 0: 7 does not say how many bytes it has"):
        launch(LaunchConfig(1, 1), kernel, out, Pointer(7))


def test_structs() -> None:
    kernel = ObjectCode.from_ptx(STRUCT).get_kernel("fill")
    assert [(it.offset, it.bytes, it.is_address) for it in kernel.parameters[0].words] == [
        (0, 8, True),
        (8, 4, False),
        (12, 4, False),
    ]
    for struct in (
        lambda out: Struct(out, np.int32(7), np.float32(2.5)),
        lambda out: Struct(out=out, n=np.int32(7), x=np.float32(2.5)),
        lambda out: Struct({0: out, 8: np.int32(7), 12: np.float32(2.5)}),
    ):
        out = np.zeros(2, np.uint32)
        launch(LaunchConfig(1, 1), kernel, struct(out)).raise_for_findings()
        assert out[0] == 7 and out[1:].view(np.float32)[0] == 2.5
    for struct, why in (
        (Struct(np.zeros(2), 7), "write `numpy.int32\\(7\\)`"),
        (Struct({0: np.zeros(2), 4: np.int32(1)}), "starts at byte 4"),
        (Struct(np.zeros(2), bytes(40)), "but the parameter is `.b8` array of 24 bytes"),
    ):
        with pytest.raises(LaunchError, match=why):
            launch(LaunchConfig(1, 1), kernel, struct)
    with pytest.raises(LaunchError, match="the kernel reads an address of 8 bytes at 0"):
        launch(LaunchConfig(1, 1), kernel, 5)


COPY = HEAD + """
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 bytes) {
  .reg .b32 n, s, b, i; .reg .b64 m, p, at; .reg .pred q; .reg .b8 x; .reg .b16 y;
  .shared .align 1024 .b8 tile[4096];
  .shared .align 8 .b64 bar;
  mov.b64 m, map;
  cvta.param.u64 m, m;
  ld.param.b64 p, [out];
  ld.param.b32 n, [bytes];
  mov.u32 s, tile;
  mov.u32 b, bar;
  mbarrier.init.shared.b64 [b], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [b], n;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [m, {0, 0}], [b];
wait:
  mbarrier.try_wait.parity.shared.b64 q, [b], 0;
  @!q bra wait;
  mov.u32 i, 0;
loop:
  add.u32 s, i, tile;
  ld.shared.u8 y, [s];
  cvt.u64.u32 at, i;
  add.u64 at, at, p;
  st.global.u8 [at], y;
  add.u32 i, i, 1;
  setp.lt.u32 q, i, n;
  @q bra loop;
  ret;
}
"""


def test_tensor_maps() -> None:
    kernel = ObjectCode.from_ptx(COPY).get_kernel("copy")
    assert kernel.parameters[0].may_be_tensor_map
    data = np.arange(64 * 32, dtype=np.float16).reshape(64, 32)
    out = np.zeros((8, 16), np.float16)
    launch(LaunchConfig(1, 1), kernel, TensorMap(data, (8, 16)), out, out.nbytes).raise_for_findings()
    np.testing.assert_array_equal(out, data[:8, :16])
    # Every other row, by strides.
    launch(
        LaunchConfig(1, 1), kernel, TensorMap(data, (8, 16), shape=(32, 32), strides=(128,)), out, out.nbytes
    ).raise_for_findings()
    np.testing.assert_array_equal(out, data[:16:2, :16])
    # Elements of four bits, packed: 32 of them are 16 bytes.
    narrow = (np.arange(8 * 32) % 7).reshape(8, 32).astype(ml_dtypes.float4_e2m1fn)
    packed = np.zeros((8, 16), np.uint8)
    map = TensorMap(Packed(narrow), (8, 32))
    launch(LaunchConfig(1, 1), kernel, map, packed, packed.nbytes).raise_for_findings()
    codes = narrow.view(np.uint8)
    np.testing.assert_array_equal(packed, codes[:, ::2] | codes[:, 1::2] << 4)


@pytest.mark.parametrize(
    ("map", "why"),
    [
        (lambda a: TensorMap(a, (8, 512)), "each 1 to 256"),
        (lambda a: TensorMap(a, (8,)), "as many dimensions"),
        (lambda a: TensorMap(a, (8, 64), swizzle="64B"), "a swizzle of 64 bytes has room for 64"),
        (lambda a: TensorMap(a, (8, 4)), "a multiple of 16 bytes, not 8"),
        (lambda a: TensorMap(a, (8, 16), swizzle="256B"), "`256B` is no swizzle"),
        (lambda a: TensorMap(a, (8, 16), strides=(100,)), "strides are multiples of 16"),
        (lambda a: TensorMap(a, (8, 16), shape=(128, 32)), "the tensor has 8192 bytes, but there are 4096"),
        (lambda a: TensorMap(a, (8, 16), element="f17"), "`f17` is no element"),
        (lambda a: TensorMap(a.view(np.int16), (8, 16), fill="nan"), "floating point only"),
        (lambda a: TensorMap(a.astype(ml_dtypes.float4_e2m1fn), (8, 32)), "pass `Packed"),
        (lambda a: TensorMap(a, (8, 64), element="b4x16_p64", shape=(8, 64), strides=(64,)), "multiple of 128, not 64"),
        (lambda a: TensorMap(a, (8, 64), element="b6x16_p32", shape=(8, 128), strides=(96,)), "128 elements of `b6x16_p32`"),
        (
            lambda a: TensorMap(a, (8, 128), "64B", element="b6x16_p32", shape=(8, 128), strides=(96,)),
            "a swizzle, or one|no swizzle, or one over 128 bytes",
        ),
    ],
)
def test_impossible_tensor_maps_are_refused(map, why) -> None:
    kernel = ObjectCode.from_ptx(COPY).get_kernel("copy")
    with pytest.raises(LaunchError, match=why):
        launch(LaunchConfig(1, 1), kernel, map(np.zeros((64, 32), np.float16)), np.zeros(256, np.uint8), 256)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, None),
        ({"lower_corner": (-1,)}, "a corner has a number for each dimension but the first and the last, each of -128 to 127"),
        ({"upper_corner": (0, 200)}, "each of -128 to 127"),
        ({"lower_corner": (-1, 0), "upper_corner": (-9, 0)}, "is empty"),
        ({"channels": 257}, "1 to 256 channels, not 257"),
        ({"channels": 0}, "1 to 256 channels, not 0"),
        ({"pixels": 2000}, "1 to 1024 pixels, not 2000"),
        ({"channels": 64, "swizzle": "64B"}, "a swizzle of 64 bytes has room for 64"),
        ({"lower_corner": (-1, 2**40)}, "`lower_corner` is an integer from"),
        ({"pixels": "all"}, "`pixels` is an integer"),
        ({"shape": (8, 8)}, "3 to 5 dimensions"),
    ],
)
def test_im2col_maps_are_those_that_the_driver_makes(given, why) -> None:
    kernel = ObjectCode.from_ptx(COPY).get_kernel("copy")
    options = {"lower_corner": (-1, -1), "upper_corner": (-1, -1), "channels": 16, "pixels": 64, **given}
    map = TensorMap.im2col(np.zeros((2, 8, 8, 64), np.float16), **options)
    out = np.zeros(256, np.uint8)
    if why is None:
        # The kernel copies tiles: that is a finding, and not the map's fault.
        launch(LaunchConfig(1, 1), kernel, map, out, 256)
        return
    with pytest.raises(LaunchError, match=why):
        launch(LaunchConfig(1, 1), kernel, map, out, 256)


def test_packed_arrays_come_back() -> None:
    text = SCALE.replace("ld.global.f32 x, [at];", "ld.global.b32 t, [at]; not.b32 t, t;").replace(
        "mul.f32 x, x, f;\n  st.global.f32 [at], x;", "st.global.b32 [at], t;"
    )
    kernel = ObjectCode.from_ptx(text).get_kernel("scale")
    codes = np.arange(16, dtype=np.uint8)
    narrow = codes.view(ml_dtypes.float4_e2m1fn)
    run = launch(ONE, kernel, Packed(narrow), 0.0, 2)
    run.raise_for_findings()
    np.testing.assert_array_equal(narrow.view(np.uint8), 15 - np.arange(16))
    assert run.known(narrow).all()


SPIN = HEAD + ".visible .entry spin() {\nagain:\n  nanosleep.u32 1;\n  bra again;\n}\n"


def test_a_kernel_that_never_ends_is_incomplete() -> None:
    kernel = ObjectCode.from_ptx(SPIN).get_kernel("spin")
    run = launch(ONE, kernel, budget=1000)
    assert run.verdict == "incomplete"
    assert "budget" in run.reasons[0].message and run.reasons[0].help
    run.raise_for_findings(incomplete=False)
    with pytest.raises(ptx_tc.FindingsError, match="budget"):
        run.raise_for_findings()


def test_ctrl_c_ends_a_run() -> None:
    kernel = ObjectCode.from_ptx(SPIN).get_kernel("spin")
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        launch(ONE, kernel, budget=10**12)
    assert time.monotonic() - start < 20
    assert launch(ONE, kernel, budget=1000).verdict == "incomplete"


def test_devices_in_threads(scale) -> None:
    wrong = []

    def work() -> None:
        device, data = Device(), np.ones(32, np.float32)
        for _ in range(50):
            device.launch(ONE, scale, data, 1.0625, 32)
        if not (data == np.float32(1.0625) ** 50).all() and not np.allclose(data, 1.0625**50):
            wrong.append(data)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


def test_launches_do_not_grow(scale) -> None:
    data = np.ones(1 << 16, np.float32)
    for _ in range(200):
        launch(ONE, scale, data, 1.0, 32)
    gc.collect()
    before = _resident()
    for _ in range(800):
        launch(ONE, scale, data, 1.0, 32)
    gc.collect()
    # An array of each launch alone would be 50 000 pages.
    assert _resident() - before < 2_000


def test_explanations_name_arrays(scale) -> None:
    data = np.arange(4, dtype=np.float32)
    run = launch(ONE, scale, data, 3.0, 4, names={"data": "x"})
    text = run.explain("x[2]")
    assert text.startswith("  x[2] = 6.0") and "mul.f32" in text
    with pytest.raises(LaunchError, match="no array `y`"):
        run.explain("y[0]")


def test_clusters(scale) -> None:
    data = np.ones(4, np.float32)
    run = launch(LaunchConfig(grid=4, block=32, cluster=2), scale, data, 1.0, 0)
    assert run.statistics.clusters == 4
    run = launch(LaunchConfig(grid=4, block=32, cluster=2), scale, data, 1.0, 0, clusters=range(1, 3))
    assert run.statistics.clusters == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"clusters": range(0, 4, 2)}, "without gaps"),
        ({"clusters": (3, 1)}, "is empty"),
        ({"clusters": "all"}, "a number, a range, or a pair"),
        ({"seed": -1}, "`seed` is an integer from 0"),
        ({"runs": "many"}, "`runs` is an integer, not 'many'"),
        ({"budget": -1}, "`budget` is an integer from 0"),
        ({"schedule": None}, "`schedule` is a word"),
        ({"numbers": "float"}, "`numbers` is `exact` or `measured`"),
        ({"checks": "some"}, "`checks` is `all` or `none`"),
        ({"names": {"x": "y"}}, "no parameter `x`"),
        ({"names": "x"}, "is a dictionary"),
        ({"device": 3}, "is a Device"),
    ],
)
def test_impossible_options_are_refused(scale, options, why) -> None:
    with pytest.raises(LaunchError, match=why):
        launch(LaunchConfig(4, 32), scale, np.ones(4, np.float32), 1.0, 4, **options)


def test_what_is_launched_has_to_be_a_kernel(scale) -> None:
    with pytest.raises(LaunchError, match="LaunchConfig, not a NoneType"):
        launch(None, scale)  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="Kernel, not a ObjectCode"):
        launch(ONE, ObjectCode.from_ptx(SCALE))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (np.float32(1), "a float32 is given, but the parameter is `.u32`"),
        (np.str_("a"), "no number that can be passed"),
        (np.void(b"abcd"), "no number that can be passed"),
        (np.datetime64("now"), "no number that can be passed"),
        (np.complex64(1), "no number that can be passed"),
        (10**400, "does not fit 64 bits"),
    ],
)
def test_scalars_of_other_types_are_refused(scale, value, why) -> None:
    with pytest.raises(LaunchError, match=why):
        launch(ONE, scale, np.ones(4, np.float32), 1.0, value)
    with pytest.raises(LaunchError, match="1e300 does not fit an `f32`"):
        launch(ONE, scale, np.ones(4, np.float32), 1e300, 1)


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


def test_threads_share_what_they_only_read() -> None:
    kernel = ObjectCode.from_ptx(ADD).get_kernel("add")
    weights, wrong = np.ones(1 << 14, np.float32), []

    def work() -> None:
        device, out = Device(), np.zeros(32, np.float32)
        try:
            for _ in range(30):
                device.launch(ONE, kernel, weights, out).raise_for_findings()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_structs_have_what_the_kernel_reads() -> None:
    kernel = ObjectCode.from_ptx(STRUCT).get_kernel("fill")
    for struct in (Struct(), Struct(np.zeros(2)), Struct({0: np.zeros(2), 12: np.float32(1)})):
        with pytest.raises(LaunchError, match="the kernel reads . bytes at .* of it, which no field has"):
            launch(LaunchConfig(1, 1), kernel, struct)
    with pytest.raises(LaunchError, match="the offset` is an integer"):
        launch(LaunchConfig(1, 1), kernel, Struct({-8: np.zeros(2)}))


def test_foreign_arrays_and_lines_are_refused(scale) -> None:
    run = launch(ONE, scale, np.ones(4, np.float32), 1.0, 4)
    with pytest.raises(LaunchError, match="no argument of this launch"):
        run.known(np.zeros(5))
    for until in (-1, "x", "k.ptx:", 2**70):
        with pytest.raises(LaunchError, match="a line of the PTX"):
            run.shared(until=until)
    for cta in (-1, (0, 0, 1), 2**40):
        with pytest.raises(IndexError):
            run.tensor_memory(cta)
    with pytest.raises(LaunchError, match="no arrays of"):
        Device().empty(3, ">f4")
    with pytest.raises(LaunchError, match="numpy has no type void"):
        Device().upload(np.zeros(8, [("a", "f4")])).numpy()


def test_subclasses_of_arrays_are_arrays(scale) -> None:
    for given in (np.ma.array(np.ones(4, np.float32)), np.asmatrix(np.ones(4, np.float32))):
        launch(ONE, scale, given, 2.0, 4).raise_for_findings()
        assert (np.asarray(given) == 2.0).all()


def test_ctrl_c_ends_a_large_grid() -> None:
    kernel = ObjectCode.from_ptx(HEAD + ".visible .entry k() { ret; }\n").get_kernel("k")
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        launch(LaunchConfig(2**31 - 1, 32), kernel)
    assert time.monotonic() - start < 20


def test_a_fork_has_a_device_of_its_own(scale) -> None:
    import multiprocessing
    import sys

    if sys.platform == "win32":
        return
    spin = ObjectCode.from_ptx(SPIN).get_kernel("spin")
    thread = threading.Thread(target=lambda: launch(ONE, spin, budget=3_000_000))
    thread.start()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: launch(ONE, scale, np.ones(4, np.float32), 1.0, 4))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    thread.join()
