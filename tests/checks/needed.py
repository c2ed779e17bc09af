#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program linked with the library must not need anything of CUDA's at run time."""
import re
import subprocess

import common

ALLOWED = re.compile(r"^(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux.*)\.so")


def faults_of(program):
    needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]",
                        common.output("readelf", "-dW", program))
    if not needed:
        yield f"{program}: readelf names no library at all"
    for library in needed:
        if not ALLOWED.match(library):
            yield f"{program}: needs {library}"


def check(options):
    yield from faults_of(options.program)


def planted(folder):
    (folder / "fake.c").write_text("int fake(void) { return 0; }\n")
    (folder / "main.c").write_text("int fake(void);\nint main(void) { return fake(); }\n")
    for command in (["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "fake.c", "-o",
                     "libcuda.so"],
                    ["cc", "main.c", "-o", "main", "-L.", "-lcuda"]):
        subprocess.run(command, cwd=folder, check=True)
    common.expect(faults_of(folder / "main"), "needs libcuda.so.1")


if __name__ == "__main__":
    common.run(check, planted, "program")
