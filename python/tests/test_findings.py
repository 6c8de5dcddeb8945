"""Checks, descriptors, and PTX in binaries."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

import ptx_tc

BROKEN = ".version 9.0\n.target sm_100a\n.entry k() {\n  tcgen05.wait::ld.sync;\n}\n"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_check() -> None:
    report = ptx_tc.check(BROKEN, name="k.ptx")
    (finding,) = report
    assert (finding.code, finding.name, finding.severity) == ("TC104", "missing-qualifier", "error")
    assert (finding.path, finding.line, finding.column) == ("k.ptx", 4, 3)
    assert finding.help == "add `.aligned`" and finding.url.endswith("/TC104")
    assert "^^^" in str(finding) and str(finding) in str(report)
    assert report.errors == [finding] and len(report) == 1 and report[0] is finding
    assert not ptx_tc.check(BROKEN.replace(".sync;", ".sync.aligned;"))


def test_check_of_other_languages() -> None:
    report = ptx_tc.check(ROOT / "docs" / "tmem.cuh")
    assert [it.line for it in report.errors] and all(it.path.endswith("tmem.cuh") for it in report)


def test_options() -> None:
    assert not ptx_tc.check(BROKEN, ignore=["TC104"])
    assert not ptx_tc.check(BROKEN, select=["TC3"])
    assert {it.code for it in ptx_tc.check(BROKEN, targets=["sm_90a"])} - {"TC104"}
    for wrong in ({"select": ["TC9999"]}, {"targets": ["hopper"]}, {"version": "x"}):
        with pytest.raises(ValueError):
            ptx_tc.check(BROKEN, **wrong)
    with pytest.raises(ptx_tc.CheckError, match="cannot read"):
        ptx_tc.check("missing.ptx")


def test_descriptors() -> None:
    word = ptx_tc.encode_idesc(kind="f16", dtype="f32", a="bf16", b="bf16", m=128, n=256)
    decoded = ptx_tc.decode_idesc(word, kind="f16")
    assert decoded.valid and int(decoded) == word
    assert (decoded["m"], decoded["n"], decoded["a"], decoded["dtype"]) == ("128", "256", "bf16", "f32")
    assert not ptx_tc.decode_idesc(1, kind="f16").valid and ptx_tc.decode_idesc(1, kind="f16").problems
    smem = ptx_tc.encode_smem("bf16", "128x64", "k-major", swizzle="128B")
    assert ptx_tc.decode_smem(smem)["swizzle"] == "128b"
    for word in (-1, 2**64):
        with pytest.raises(ValueError, match="a number of 0 to 2"):
            ptx_tc.decode_smem(word)
    with pytest.raises(ValueError, match="no field `d`"):
        ptx_tc.encode_idesc(kind="f16", d="f32")
    with pytest.raises(KeyError):
        decoded["missing"]


def test_ptx_in_binaries() -> None:
    module = "//\n// Generated\n//\n.version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n"
    binary = b"\x7fELF\0\1\2" + bytes(100) + b"\xff" + module.encode() + b"\0\0rest\0"
    code = ptx_tc.ObjectCode.from_ptx(binary)
    assert code.kernels == ["k"] and code.code.decode() == module
    with pytest.raises(ptx_tc.CheckError, match="has no PTX: compile for"):
        ptx_tc.ObjectCode.from_ptx(b"\x7fELF\0\1\2")
    with pytest.raises(ptx_tc.CheckError, match="has 1 modules of PTX, and no number 1"):
        ptx_tc.ObjectCode.from_ptx(binary, module=1)
    with pytest.raises(ptx_tc.CheckError, match="neither text nor a binary"):
        ptx_tc.ObjectCode.from_ptx(b"\xff\xfe")
    with pytest.raises(TypeError):
        ptx_tc.ObjectCode.from_ptx(5)  # type: ignore[arg-type]


def test_the_program() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "ptx_tc", *words], capture_output=True, text=True)

    assert run("--version").stdout.split()[:2] == ["ptx-tc", ptx_tc.__version__]
    assert run("check", str(ROOT / "docs" / "kernel.ptx")).returncode == 1
    assert run("check", "--wrong").returncode == 2


def test_nothing_is_imported_for_a_check() -> None:
    text = f"import sys, ptx_tc; ptx_tc.check({BROKEN!r}); ptx_tc.decode_idesc(0, kind='f16'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_all_names_are_there() -> None:
    for name in ptx_tc.__all__:
        assert getattr(ptx_tc, name) is not None
    assert set(ptx_tc.__all__) <= set(dir(ptx_tc))
    with pytest.raises(AttributeError):
        ptx_tc.missing
