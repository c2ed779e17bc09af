#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of an outcomes.py bundle twice on the first GPU and writes results.tar.xz. Run it in the bundle's folder."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "out"
LIMIT = 200  # seconds per program


def run(program, arguments, log, told):
    begin = time.monotonic()
    with open(log, "w") as file:
        try:
            status = subprocess.run([HERE / program, *arguments], env={**os.environ, **told}, stdout=file, stderr=file, timeout=LIMIT,
                                    check=False).returncode
        except subprocess.TimeoutExpired:
            status = "no end"
    print(f"{log.relative_to(OUT)}: status {status}, {time.monotonic() - begin:.1f} s", flush=True)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    if shutil.which("nvidia-smi"):
        told = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
        (OUT / "gpu.txt").write_text(told.stdout)
        print(told.stdout.strip())
    run("tensor_cores_device_test", [], OUT / "tensor_cores.log", {"TW_TEST_DEVICE": "cuda", "TW_RECORD_TENSOR_CORES": str(OUT)})
    tests = json.loads((HERE / "tests.json").read_text())
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "10"))) as pool:
        for turn in ("first", "second"):
            (OUT / turn).mkdir()
            for name, program, arguments in tests:
                pool.submit(run, program, arguments, OUT / turn / f"{name}.log",
                            {"TW_TEST_DEVICE": "ptx", "TW_RECORD_ON": "cuda", "TW_RECORD_OUTCOMES": str(OUT / turn / f"{name}.txt")})
    with tarfile.open(HERE / "results.tar.xz", "w:xz", preset=9) as file:
        file.add(OUT, "out")
    print(f"results.tar.xz: {(HERE / 'results.tar.xz').stat().st_size} bytes")


if __name__ == "__main__":
    main()
