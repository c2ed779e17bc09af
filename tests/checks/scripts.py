#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts report the truth. tests/run.sh counts a requested test that did not run, and a run without tests,
as failures, and runs the thorough tests only with --all or TW_CONFIGS. tests/progress.py shows a command's
output, shows that a silent command is alive, and passes on its exit status.
tests/bench/moves/copies_and_rows.sh fails if a step fails. One-line programs that behave as each case needs
stand in for the tools."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

TESTS = common.ROOT / "tests"
# Meson as far as run.sh uses it: running tests leaves the prepared log.
MESON = """#!/bin/sh
[ "$1" = setup ] && mkdir -p "$2"
[ "$1" = test ] && echo "meson $*" && mkdir -p "$3/meson-logs" && cp "$STUB_LOG" "$3/meson-logs/testlog.json"
exit 0
"""


def program(path, text="exit 0"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def ran(script, *arguments, tools, **environment):
    # The environment of this check may select configurations.
    outer = {name: value for name, value in os.environ.items() if name != "TW_CONFIGS"}
    done = subprocess.run([script, *arguments], capture_output=True, text=True,
                          env={**outer, "PATH": f"{tools}:{os.environ['PATH']}", **environment})
    return done.returncode, done.stdout


def logged(folder, names, config, *arguments, form="unit - tilewright:{}"):
    """run.sh's exit status and output if Meson ran these tests; without `config` TW_CONFIGS is not set."""
    build = folder / "build"
    program(folder / "tools" / "ninja")
    program(build / "venv" / "bin" / "meson")
    (build / "venv" / "bin" / "meson").write_text(MESON)
    (folder / "log").write_text("".join(json.dumps({"name": form.format(name), "result": "OK"}) + "\n"
                                        for name in names))
    return ran(folder / "tests" / "run.sh", *arguments, tools=folder / "tools", TW_BUILD_DIR=str(build),
               TW_INSTALL="no", STUB_LOG=str(folder / "log"), **({"TW_CONFIGS": config} if config else {}))


def run_sh(folder):
    names = re.search(r"^    tsan\)\n.*?^ +tests=\(([^)]*)\)", (folder / "tests" / "run.sh").read_text(),
                      re.DOTALL | re.MULTILINE).group(1).split()
    count = len(names)
    for said, config, status, words in (
            (names, "tsan", 0, f"{count} passed, 0 failed, 0 skipped"),
            (names[1:], "tsan", 1, "tsan: threads: it was not run"),
            (names[1:], "tsan", 1, f"{count - 1} passed, 1 failed, 0 skipped"),
            ([], "tsan", 1, f"0 passed, {count} failed, 0 skipped"),
            (names, " ", 1, "0 passed, 1 failed, 0 skipped"),
            (names, "none", 1, 'no configuration "none"')):
        found, report = logged(folder, said, config)
        if found != status or words not in report:
            yield f'run.sh, TW_CONFIGS="{config}", ran {said}: exit status {found}, not "{words}": {report[-600:]}'
    found, report = logged(folder, names, "tsan", form="tilewright:unit / {}")
    if found:
        yield f"run.sh, with names as Meson 1.11 and before wrote them: exit status {found}: {report[-600:]}"
    for config, wanted in ((None, True), ("main", False)):
        found, report = logged(folder, names, config)
        if found or ("--no-suite thorough" in report) != wanted or "in all" not in report:
            yield f"run.sh, TW_CONFIGS={config}: exit status {found}, thorough tests left out: {not wanted}: {report[-600:]}"


def progress(folder):
    """Runs main() of progress.py with a shorter delay."""
    call = (f"import sys; sys.path.insert(0, {str(folder / 'tests')!r}); import progress; progress.QUIET_SECONDS = 0.5; "
            "sys.argv = ['progress', 'this', 'sh', '-c', sys.argv[1]]; progress.main()")
    for command, status, words in (
            ("echo '[1/2] one'; echo '[2/2] two'; echo done", 0, ["[2/2] two\n", "done\n"]),
            ("echo '[1/2] one'; sleep 2.5; echo end", 0, ["== this: ", " s, [1/2] one\n", "end\n"]),
            ("echo why; exit 3", 3, ["why\n"]), ("printf half; kill -9 $$", 137, ["half\n"])):
        done = subprocess.run([sys.executable, "-B", "-c", call, command], capture_output=True, text=True)
        if done.returncode != status or not all(word in done.stdout for word in words):
            yield f"progress.py, {command}: exit status {done.returncode}, {done.stdout!r}"


def copies_and_rows(folder):
    build = folder / "bench"
    program(folder / "tools" / "python3", "exit 1")  # no torch
    program(folder / "tools" / "compute-sanitizer")
    for part, sources in (("device", "*_device_test.cpp"), ("bench", "bench_*.cpp")):
        for source in (TESTS / part).rglob(sources):
            program(build / "tests" / part / source.stem)
    script = folder / "tests" / "bench" / "moves" / "copies_and_rows.sh"
    for broken, words in ((None, "== moves"), ("bench/bench_moves", "failed: moves"), ("bench/bench_rows", "rows_sweep"),
                          ("device/copy_turn_device_test", "failed: test_copy_turn")):
        if broken:
            program(build / "tests" / broken, "exit 3")
        status, report = ran(script, build, tools=folder / "tools")
        if status != (1 if broken else 0) or words not in report:
            yield f'copies_and_rows.sh, {broken} fails: exit status {status}, not "{words}": {report[-600:]}'
        if broken:
            program(build / "tests" / broken)
    if ran(script, folder / "nowhere", tools=folder / "tools")[0] != 1:
        yield "copies_and_rows.sh: a build that is not there passes"


def copied(folder):
    for name in ("run.sh", "setup.sh", "progress.py", "bench/moves/copies_and_rows.sh"):
        (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTS / name, folder / "tests" / name)
    return folder


def check(_):
    with tempfile.TemporaryDirectory() as folder:
        folder = copied(pathlib.Path(folder))
        yield from run_sh(folder)
        yield from progress(folder)
        yield from copies_and_rows(folder)


def planted(folder):
    copied(folder)
    for name, text, instead in (("run.sh", "if name not in seen:", "if False:"),
                                ("run.sh", "suites=(--no-suite thorough)", "suites=()"),
                                ("progress.py", "printer.silence()", "pass"), ("progress.py", "128 - status", "0"),
                                ("bench/moves/copies_and_rows.sh", 'failed+=("$name")', ":")):
        script = folder / "tests" / name
        assert text in script.read_text(), f"{name} has no {text}"
        script.write_text(script.read_text().replace(text, instead))
    assert len([*run_sh(folder)]) == 4, [*run_sh(folder)]
    assert len([*progress(folder)]) == 2, [*progress(folder)]
    assert len([*copies_and_rows(folder)]) == 3, [*copies_and_rows(folder)]


if __name__ == "__main__":
    common.run(check, planted)
