#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a fuzzer for a limited time: fuzz.py FUZZER FOUND CORPUS. New inputs go to the folder FOUND,
failing ones to FOUND/failed-... TW_FUZZ_SECONDS is the time in seconds (20). TW_FUZZ_SEED is the
seed (1, so that runs repeat; 0: a different one each time)."""
import os
import pathlib
import subprocess
import sys

fuzzer, found, corpus = sys.argv[1:]
pathlib.Path(found).mkdir(parents=True, exist_ok=True)
seconds = os.environ.get("TW_FUZZ_SECONDS", "20")
seed = os.environ.get("TW_FUZZ_SEED", "1")
sys.exit(subprocess.run([fuzzer, found, corpus, f"-max_total_time={seconds}", f"-seed={seed}",
                         "-timeout=10", "-rss_limit_mb=4096", f"-artifact_prefix={found}/failed-",
                         "-print_final_stats=1"]).returncode)
