#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every shell script must pass shellcheck; those that users start must be executable."""
import os
import shutil
import subprocess

import common


def is_shell(file):
    if file.suffix == ".sh":
        return True
    with open(file, "rb") as handle:
        return handle.read(64).startswith((b"#!/bin/sh", b"#!/usr/bin/env bash", b"#!/bin/bash"))


def faults_of(files):
    for file in files:
        done = subprocess.run(["shellcheck", "-x", str(file)], capture_output=True, text=True,
                              cwd=common.ROOT)
        if done.returncode:
            yield f"{file}:\n{done.stdout}{done.stderr}"
        if file.read_text().startswith("#!") and not os.access(file, os.X_OK):
            yield f"{file}: not executable"


def check(_):
    yield from faults_of([f for f in common.tracked() if is_shell(f)])


def planted(folder):
    if not shutil.which("shellcheck"):
        common.skip("there is no shellcheck")
    (folder / "a.sh").write_text("#!/bin/sh\necho $1\n")
    (folder / "b.sh").write_text("#!/bin/sh\necho \"$1\"\n")
    (folder / "a.sh").chmod(0o755)
    common.expect(faults_of([folder / "a.sh", folder / "b.sh"]), "SC2086", "not executable")


if __name__ == "__main__":
    common.run(check, planted)
