"""The pytest plugin, in a project of its own."""

from __future__ import annotations

import numpy  # noqa: F401  # `pytester` runs tests in this process, which can load numpy once only.
import pytest

pytest_plugins = ["pytester"]

KERNEL = '''
import numpy as np
import pytest
from ptx_tc import LaunchConfig, ObjectCode

PTX = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry fill(.param .u64 out) {
  .reg .b32 t; .reg .b64 p, at;
  ld.param.b64 p, [out];
  mov.u32 t, %tid.x;
  mad.wide.u32 at, t, 4, p;
  st.global.b32 [at], t;
  ret;
}
"""
kernel = ObjectCode.from_ptx(PTX, name="fill.ptx").get_kernel("fill")
config = LaunchConfig(grid=1, block=32)
'''


def test_findings_fail_a_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        KERNEL
        + """
def test_sound(ptx_tc):
    out = np.zeros(32, np.uint32)
    run = ptx_tc.launch(config, kernel, out)
    assert run.is_clean and ptx_tc.runs == [run]
    ptx_tc.assert_matches(out, np.arange(32))

def test_broken(ptx_tc):
    ptx_tc.launch(config, kernel, np.zeros(8, np.uint32))

@pytest.mark.ptx_tc_allow("SIM501")
def test_allowed(ptx_tc):
    assert ptx_tc.launch(config, kernel, np.zeros(8, np.uint32)).verdict == "findings"

@pytest.mark.ptx_tc_allow("SIM5")
def test_family(ptx_tc):
    assert ptx_tc.launch(config, kernel, np.zeros(8, np.uint32)).verdict == "findings"

@pytest.mark.ptx_tc_allow("out-of-range")
def test_no_rule(ptx_tc):
    pass

def test_wrong(ptx_tc):
    out = np.zeros(32, np.uint32)
    ptx_tc.launch(config, kernel, out)
    ptx_tc.assert_matches(out, np.arange(32) + (np.arange(32) == 5))
"""
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=3, failed=2, errors=1)
    text = result.stdout.str()
    assert "`ptx_tc_allow` takes codes of rules such as TC703 or SIM2, not 'out-of-range'" in text
    assert "SIM501" in text and "st.global.b32 [at], t;" in text
    # Not a traceback through the package.
    assert "_launch.py" not in text and "raise FindingsError" not in text
    assert "1 of 32 elements are wrong. The first is result[5]: it is 5, and the reference is 6" in text


def test_what_triton_compiles_is_checked(pytester: pytest.Pytester) -> None:
    pytest.importorskip("triton")
    pytester.makepyfile(
        """
import numpy as np
import triton
import triton.language as tl
import ptx_tc

@triton.jit
def broken(x):
    tl.inline_asm_elementwise("tcgen05.wait::ld.sync.aligned; mov.b32 $0, 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x, 1.0)

@triton.jit
def sound(x):
    tl.store(x, 1.0)

def test_sound():
    ptx_tc.triton.run(sound, (1,), np.zeros(1, np.float32))
"""
    )
    pytester.runpytest("--ptx-tc").assert_outcomes(passed=1)
