"""Runs the kernels, and writes the table of them."""

from __future__ import annotations

import argparse
import pathlib
import sys
import traceback

from . import cases

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python-kernels.md"
HEAD = """# Kernels that ran in Python

These kernels were compiled and run by `ptx_tc` ([python.md](python.md)) without a GPU, and compared with numpy in double
precision. None of the runs has a finding. They are written as people write them, and have small shapes. `python/tests/suite` has
them; each change runs half of them, and `.ci/nightly` all.

The *largest error* is the largest difference from the reference, beside the largest value of the reference. In the last
column a second program, in numpy, computes the bits: the arithmetic of [numbers.md](numbers.md) for products of matrices,
IEEE arithmetic or integers for the others. A dash stands where nothing is known to the bit: exponentials, roots, and sums
in an order that the compiler chooses.

This table is written by

```console
cd python/tests && python -m suite --write
```

| kernel | producer | shape | largest error | of | equal to the model bit for bit |
|---|---|---|---|---|---|
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m suite", description=__doc__)
    parser.add_argument("names", nargs="*", help="run those with one of these in their names")
    parser.add_argument("--write", action="store_true", help="write the table into docs")
    parser.add_argument("--gate", action="store_true", help="those that each change runs")
    options = parser.parse_args()
    rows, wrong, total = [], 0, 0.0
    for it in cases():
        if options.names and not any(name in f"{it.producer} {it.name}" for name in options.names):
            continue
        if options.gate and not it.gate:
            continue
        try:
            judged = it.judge()
        except Exception:
            wrong += 1
            print(f"WRONG {it.producer}: {it.name}", flush=True)
            traceback.print_exc()
            continue
        total += judged.seconds
        model = {None: "–", True: "yes", False: "no"}[judged.is_model]
        rows.append(
            f"| {it.name} | {it.producer} | {it.shape} | {judged.error:.2g} | {judged.scale:.3g} | {model} |"
        )
        print(f"{judged.seconds:6.2f} s {rows[-1]}", flush=True)
    print(f"{len(rows)} are right, {wrong} wrong, {total:.0f} s")
    if options.write and not wrong and not options.names:
        PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
