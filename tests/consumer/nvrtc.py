#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capi/tools/nvrtc_kernels.py must compile a part for every target, and must report what is missing or unknown.
Skipped if NVRTC and ptxas are not installed as packages of this Python."""
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "capi" / "tools" / "nvrtc_kernels.py"


def run(*arguments):
    done = subprocess.run([sys.executable, "-B", TOOL, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def need(good, said):
    if not good:
        sys.exit(said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, said = run(folder / "none", "--nvrtc", folder / "nowhere")
        need(status == 2 and "there is no nvrtc: install" in said, said)
        status, said = run(folder / "out", "--only", "prefetch_0")
        if status == 2 and "install the packages named above" in said:
            print(f"skipped: {said.splitlines()[-1]}")
            sys.exit(77)
        need(status == 0, said)
        image = (folder / "out" / "prefetch_0.fatbin").read_bytes()
        need(image[:4] == bytes.fromhex("50ed55ba"), "no fatbin was written")
        need([path.name for path in (folder / "out").iterdir()] == ["prefetch_0.fatbin"], "parts are left behind")
        status, said = run(folder / "out", "--only", "no_such_0")
        need(status == 2 and "--only names no part: no_such_0" in said, said)


if __name__ == "__main__":
    main()
