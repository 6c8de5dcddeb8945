"""Tensors of torch, on the CPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import ptx_tc
from ptx_tc import LaunchConfig, LaunchError, ObjectCode, TensorMap, launch
from ptx_tc.testing import assert_matches
from test_kernels import kernel
from test_launch import HEAD, ONE

COPY = HEAD + """
.visible .entry copy(.param .u64 a, .param .u64 b, .param .u32 count) {
  .reg .b32 t, n; .reg .b64 p, q, at; .reg .b16 x; .reg .pred r;
  ld.param.b64 p, [a];
  ld.param.b64 q, [b];
  ld.param.b32 n, [count];
  mov.u32 t, %tid.x;
  setp.ge.u32 r, t, n;
  @r ret;
  cvt.u64.u32 at, t;
  add.u64 p, p, at;
  add.u64 q, q, at;
  ld.global.u8 x, [p];
  st.global.u8 [q], x;
  ret;
}
"""
TYPES = ("float32 float64 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e8m0fnu int8 uint8 uint16 int32 int64 bool complex64").split()


@pytest.mark.parametrize("name", TYPES)
def test_types(name) -> None:
    copy = ObjectCode.from_ptx(COPY).get_kernel("copy")
    dtype = getattr(torch, name)
    x = (torch.arange(8) % 2).to(dtype)
    y = torch.zeros(8 * x.element_size(), dtype=torch.uint8).view(dtype)
    run = launch(LaunchConfig(1, 128), copy, x, y, 8 * x.element_size())
    run.raise_for_findings()
    assert torch.equal(x.view(torch.uint8), y.view(torch.uint8))
    assert run.known(y).shape == (8,) and run.known(y).all()


def test_parts_and_parameters() -> None:
    copy = ObjectCode.from_ptx(COPY).get_kernel("copy")
    whole = torch.zeros(8)
    launch(ONE, copy, torch.ones(4), whole[2:6], 16).raise_for_findings()
    assert whole.tolist() == [0, 0, 1, 1, 1, 1, 0, 0]
    weight = torch.nn.Parameter(torch.zeros(4))
    launch(ONE, copy, torch.ones(4), weight, 16).raise_for_findings()
    assert weight.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (lambda: torch.zeros(4, 4).T[:, :2], r"pass `t.contiguous\(\)`"),
        (lambda: torch.zeros(4, device="meta"), "a tensor is on meta"),
        (lambda: torch.eye(4).to_sparse(), "contiguous"),
    ],
)
def test_what_is_refused(value, why) -> None:
    copy = ObjectCode.from_ptx(COPY).get_kernel("copy")
    with pytest.raises(LaunchError, match=why):
        launch(ONE, copy, value(), torch.zeros(4), 1)
    with pytest.raises(LaunchError, match=r"a.item\(\)"):
        launch(ONE, copy, torch.zeros(4), torch.zeros(4), torch.tensor(3, dtype=torch.int32))


@pytest.mark.parametrize(
    ("module", "name", "dtype", "out", "n"),
    [
        ("gemm_f16_tma_sm100a", "gemm_bf16_128x64", "bfloat16", "bfloat16", 64),
        ("gemm_fp8_tma_sm100f", "gemm_e4m3_e4m3_128x128", "float8_e4m3fn", "bfloat16", 128),
    ],
)
def test_a_gemm(module, name, dtype, out, n) -> None:
    ptx_tc_dtype, block = getattr(torch, dtype), 128 // getattr(torch, dtype).itemsize
    torch.manual_seed(1)
    a, b = (torch.randint(-3, 4, (rows, 2 * block)).float().to(ptx_tc_dtype) for rows in (128, n))
    d = torch.zeros(128, n, dtype=getattr(torch, out))
    maps = (TensorMap(it, box=(it.shape[0], block), swizzle="128B") for it in (a, b))
    run = launch(LaunchConfig(grid=1, shmem_size=230_000), kernel(module, name), *maps, d, 128, n, 2)
    run.raise_for_findings()
    assert_matches(d, a.double() @ b.double().T, operands=(a, b.T), run=run)


def test_triton() -> None:
    pytest.importorskip("triton")
    from test_triton import softmax

    x = torch.randn(3, 100)
    y = torch.zeros_like(x)
    ptx_tc.triton.run(softmax, (3,), x, y, 100, B=128).raise_for_findings()
    torch.testing.assert_close(y, torch.softmax(x, 1), rtol=2e-5, atol=1e-6)
