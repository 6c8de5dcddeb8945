"""`python -m ptx_tc` is `ptx-tc`."""

import os
import sys

from ptx_tc import find_ptx_tc_bin


def main() -> None:
    try:
        program = find_ptx_tc_bin()
    except FileNotFoundError as error:
        print(f"ptx-tc: {error}", file=sys.stderr)
        sys.exit(2)
    command = [program, *sys.argv[1:]]
    if sys.platform != "win32":
        os.execv(program, command)
    # There is no other way on Windows: `exec` there goes on beside whoever waits for this process.
    import subprocess

    try:
        sys.exit(subprocess.run(command).returncode)
    except KeyboardInterrupt:
        sys.exit(2)


if __name__ == "__main__":
    main()
