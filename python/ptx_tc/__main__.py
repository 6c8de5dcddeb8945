"""`python -m ptx_tc` is `ptx-tc`."""

from __future__ import annotations

import signal
import sys

from ._core import main as _main


def main() -> None:
    """Runs the program with the arguments of the process."""
    # The program is not Python: Ctrl-C ends it as it ends others.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_main(["ptx-tc", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
