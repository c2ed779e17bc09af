#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs compiled with an earlier header must work with the current library.

capi/snapshots/VERSION holds a release's headers in one file (tilewright.h) and the ABI of a library of that header as
abidw writes it (tilewright.abi). Checked against them:

- Every constant keeps its value, every function its types, every struct its fields at their offsets, with
  new ones at its end. According to abidiff nothing has changed that an old program sees, in the current
  library with the structs cut to their old size and additions removed.
- Programs compiled with the old header are linked with the current library and run: a consumer, and one
  that calls every old `_init` function on an old struct and checks the bytes behind it.

snapshots.py --update writes the snapshot of the header's current version. This is right until that version is
released, and wrong afterwards.
"""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

SNAPSHOTS = common.ROOT / "capi" / "snapshots"
HEADER = common.HEADER
CONSUMER = common.ROOT / "tests" / "consumer" / "main.c"
SYSTEM = ["-lstdc++", "-lm", "-pthread", "-ldl"]


def load_bindings():
    spec = importlib.util.spec_from_file_location("bindings", common.ROOT / "examples" / "bindings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- The two headers ------------------------------------------------------------------------


def words(fields):
    return [(name, kind.rust(), count) for name, kind, count in fields]


def differences(old, new):
    """Compares two bindings.Header."""
    values = {name: value for name, _, value in new.constants}
    for name, _, value in old.constants:
        if not name.startswith("TW_VERSION_") and values.get(name) != value:
            yield f"{name} was {value} and is {values.get(name)}"
    functions = {name: (result.rust(), [kind.rust() for _, kind in parameters])
                 for name, result, parameters in new.functions}
    for name, result, parameters in old.functions:
        then = (result.rust(), [kind.rust() for _, kind in parameters])
        if functions.get(name) != then:
            yield f"{name} took {then} and takes {functions.get(name)}"
    structs = dict(new.structs)
    for name, fields in old.structs:
        now = words(structs.get(name, []))
        if now[:len(fields)] != words(fields):
            changed = next((a[0] for a, b in zip(words(fields), now + [None] * len(fields)) if a != b),
                           "a field")
            yield f"{name}: offset or type of {changed} changed"


# --- abidiff --------------------------------------------------------------------------------


def cut(text, old):
    """A header's text without the fields that its structs have gained since `old`."""
    for name, fields in old.structs:
        body = re.search(rf"typedef struct {name} \{{([^}}]*)\}}", text)
        if body:
            kept = ";".join(body.group(1).split(";")[:len(fields)]) + ";"
            text = text[:body.start(1)] + kept + text[body.end(1):]
    return text


def library_of(header, folder, old=None):
    """A shared library with this header's functions, which do nothing, and its types."""
    text = re.sub(r"/\*.*?\*/", " ", common.headers.text(header), flags=re.DOTALL)
    if old:
        text = cut(text, old)
    (folder / "tilewright.h").write_text(text)
    bodies = [f"{prototype.strip()} {{ __builtin_trap(); }}"
              for prototype in re.findall(r"^TW_API ([^;]*);", text, re.MULTILINE)]
    (folder / "all.c").write_text('#include "tilewright.h"\n' + "\n".join(bodies) + "\n")
    common.output("cc", "-g", "-std=c99", "-w", "-shared", "-fPIC", folder / "all.c", "-o",
                  folder / "all.so")
    return folder / "all.so"


def write_abi(library, out):
    # Without what depends on the machine: paths, names of compilers.
    text = common.output("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                         "--short-locs", library)
    text = re.sub(r" (?:language|soname|comp-dir-path|path)='[^']*'", "", text)
    out.write_text(text)


def abi_changes(baseline, library):
    done = subprocess.run(["abidiff", "--no-added-syms", str(baseline), str(library)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        yield f"abidiff, exit {done.returncode}:\n{done.stdout}{done.stderr}"


# --- Old programs ---------------------------------------------------------------------------


def init_program(old):
    """C that calls each `_init` of the old header on an old struct, with bytes behind it."""
    names = {name for name, _, _ in old.functions}
    lines = ["#include <stdio.h>", "#include <string.h>", "#include <tilewright/tilewright.h>",
             "int main(void) {", "  int wrong = 0;"]
    for name, _ in old.structs:
        if f"{name}_init" not in names:
            continue
        lines += ["  {", f"    struct {{ {name} value; unsigned char behind[256]; }} s;",
                  "    memset(&s, 0xa5, sizeof s);",
                  f"    if ({name}_init(&s.value, sizeof s.value) != TW_OK) wrong = 1;",
                  "    for (size_t i = 0; i < sizeof s.behind; ++i)",
                  "      if (s.behind[i] != 0xa5) {",
                  f'        printf("{name}_init writes past the end of the old struct\\n");',
                  "        wrong = 1;", "        break;", "      }", "  }"]
    return "\n".join(lines + ["  return wrong;", "}", ""])


def old_programs(header, old, archive, folder):
    (folder / "tilewright").mkdir()
    (folder / "tilewright" / "tilewright.h").write_text(common.headers.text(header))
    (folder / "init.c").write_text(init_program(old))
    shutil.copy(CONSUMER, folder / "consumer.c")
    for name in ("init", "consumer"):
        made = subprocess.run(["cc", "-std=c99", "-I", folder, folder / f"{name}.c", archive, *SYSTEM,
                               "-o", folder / name], capture_output=True, text=True)
        if made.returncode:
            yield f"{name} does not compile and link: {made.stderr}"
            continue
        ran = subprocess.run([folder / name], capture_output=True, text=True)
        for line in ran.stdout.splitlines() if ran.returncode else []:
            yield f"old program: {line}"
        if ran.returncode and not ran.stdout:
            yield f"old program {name} exits with {ran.returncode}"


# --- The check ------------------------------------------------------------------------------


def check(options):
    bindings = load_bindings()
    return held_against(bindings, sorted(SNAPSHOTS.glob("*/tilewright.h")), HEADER, options.archive)


def held_against(bindings, snapshots, header, archive):
    if not snapshots:
        yield f"{SNAPSHOTS}: there is no snapshot; tests/checks/snapshots.py --update makes one"
    today = bindings.Header(header)
    for snapshot in snapshots:
        old = bindings.Header(snapshot)
        where = snapshot.parent.name
        for fault in differences(old, today):
            yield f"{where}: {fault}"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            baseline = snapshot.with_name("tilewright.abi")
            if shutil.which("abidiff") and baseline.exists():
                for fault in abi_changes(baseline, library_of(header, folder, old)):
                    yield f"{where}: {fault}"
            for fault in old_programs(snapshot, old, archive, folder):
                yield f"{where}: {fault}"


def update():
    text = common.headers.text(HEADER)
    version = ".".join(re.search(rf"TW_VERSION_{part} (\d+)", text).group(1)
                       for part in ("MAJOR", "MINOR"))
    folder = SNAPSHOTS / version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tilewright.h").write_text(text)
    with tempfile.TemporaryDirectory() as name:
        write_abi(library_of(HEADER, pathlib.Path(name)), folder / "tilewright.abi")


def planted(folder):
    bindings = load_bindings()
    real = common.headers.text(HEADER)

    def altered(name, *changes):
        text = real
        for before, after in changes:
            assert before in text, before
            text = text.replace(before, after, 1)
        (folder / name).mkdir()
        (folder / name / "tilewright.h").write_text(text)
        return folder / name / "tilewright.h"

    # Two old headers: the current header breaks the first and only adds to the second.
    then = altered("then", ("TW_ERROR_RULE = 105", "TW_ERROR_RULE = 106"),
                   ("tw_stream_query(tw_stream *stream)", "tw_stream_query(tw_event *stream)"),
                   ("  uint64_t src;         /**< required: device address */\n  uint64_t dst;",
                    "  uint64_t dst;         /**< required: device address */\n  uint64_t src;"))
    common.expect(differences(bindings.Header(then), bindings.Header(HEADER)), "TW_ERROR_RULE was 106",
                  "tw_stream_query took", "tw_copy_args: offset or type of dst changed")
    older = altered("older", ("TW_API tw_status tw_stream_query(tw_stream *stream);", ""))
    common.expect(differences(bindings.Header(older), bindings.Header(HEADER)))
    if shutil.which("abidiff"):
        for kind in ("then", "older"):
            write_abi(library_of(folder / kind / "tilewright.h", folder / kind),
                      folder / kind / "tilewright.abi")
        (folder / "now").mkdir()
        now = library_of(HEADER, folder / "now")
        common.expect(abi_changes(folder / "then" / "tilewright.abi", now), "tw_copy_args")
        common.expect(abi_changes(folder / "older" / "tilewright.abi", now))
        # Growth at the end is no change for old programs.
        (folder / "grown").mkdir()
        grown = altered("more", ("} tw_copy_args;", "  uint64_t more;\n} tw_copy_args;"))
        common.expect(abi_changes(folder / "older" / "tilewright.abi",
                                  library_of(grown, folder / "grown", bindings.Header(older))))
    # An old struct that is shorter than the first version in structs.inc.
    archive = pathlib.Path(sys.argv[1])
    if archive.exists():
        small = folder / "small.h"
        text = re.sub(r"  uint64_t weights;.*?\} tw_rows_args;", "} tw_rows_args;", real,
                      flags=re.DOTALL)
        assert text != real
        small.write_text(text)
        (folder / "run").mkdir()
        common.expect(old_programs(small, bindings.Header(small), archive, folder / "run"),
                      "old program init exits with 1", "old program: ")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        sys.exit(update())
    common.run(check, planted, "archive")
