#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the archive that users link: one relocatable object whose only global symbols are ours.

Linking everything into one object first, with section groups resolved, means that no template
instance or weak symbol of the library can meet one of the user's: all of them become local.
"""
import argparse
import pathlib
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--symbols", required=True, help="file with the names to keep, one a line")
    parser.add_argument("--rename", help="file of old and new names, from prefix.py")
    parser.add_argument("--objcopy", default="objcopy")
    parser.add_argument("--ar", default="ar")
    parser.add_argument("--libraries", nargs="+", required=True)
    parser.add_argument("--link", nargs=argparse.REMAINDER, required=True, help="the compiler")
    options = parser.parse_args()

    out = pathlib.Path(options.out)
    # Named after the archive, so that two builds in one directory do not meet.
    merged = out.with_suffix(".o")
    run(*options.link, "-r", "-nostdlib", "-Wl,--whole-archive", *options.libraries,
        "-Wl,--no-whole-archive", "-Wl,--force-group-allocation", "-o", str(merged))
    run(options.objcopy, f"--keep-global-symbols={options.symbols}", str(merged))
    if options.rename:
        run(options.objcopy, f"--redefine-syms={options.rename}", str(merged))
    out.unlink(missing_ok=True)
    # D: no dates and owners, so that equal sources give equal bytes.
    run(options.ar, "crsD", str(out), str(merged))
    merged.unlink()


if __name__ == "__main__":
    main()
