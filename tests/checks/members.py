#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the output of capi/package/archive.py for two members. A program links only the members that it needs.
Inline state that both members define exists once. A program's own template with the name of an internal one
stays separate. A copy with a prefix and one without can be linked into one program. Making the archive twice
gives the same bytes."""
import pathlib
import shutil
import subprocess
import tempfile
import time

import common

TOOL = common.ROOT / "capi" / "package" / "archive.py"
FLAGS = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-gnu-unique"]
API = 'extern "C" __attribute__((visibility("default"))) int '
SOURCES = {
    "both.hpp": "inline int g_count = 0;\n"
                "inline thread_local int t_count = 0;\n"
                "inline int next() { static int last = 0; return ++last; }\n"
                "struct Fault { virtual ~Fault() = default; int number = 5; };\n"
                "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
                "int low(int x);\n",
    "low.cpp": '#include "both.hpp"\n'
               "int low(int x) { if (x > 0) throw Fault(); return twice(x); }\n" +
               API + "tw_low() { ++g_count; ++t_count; next(); return low(-2); }\n",
    "high.cpp": '#include "both.hpp"\n' +
                API + "tw_count() { return g_count + 10 * t_count + 100 * next(); }\n" +
                API + "tw_twice() { return twice(3); }\n" +
                API + "tw_caught() { try { return low(1); } catch (const Fault& fault) { return fault.number; } }\n",
    # The program's own template of the same name.
    "main.cpp": "#include <cstdio>\n"
                "template <class T> __attribute__((noinline)) T twice(T x) { return x * 100; }\n"
                + "".join(f'extern "C" int {prefix}{name}();\n' for prefix in ("tw_", "other_tw_")
                          for name in ("low", "count", "twice", "caught")) +
                "int main() {\n"
                "  if (tw_low() != -4 || twice(2) != 200 || tw_twice() != 6) return std::puts(\"a template of the program's\");\n"
                "  if (tw_count() != 211) return std::puts(\"state is there twice\");\n"
                '  if (tw_caught() != 5) return std::puts("the exception of another member is not known");\n'
                "  tw_low();\n"
                '  if (other_tw_count() != 100 || other_tw_low() != -4) return std::puts("state of another copy");\n'
                "}\n",
    "alone.cpp": 'extern "C" int tw_low();\nint main() { return tw_low() + 4; }\n',
    "names.txt": "tw_caught\ntw_count\ntw_low\ntw_twice\n",
}


def said(*command, cwd):
    """The output of a command that fails, else ""."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    return done.stdout + done.stderr if done.returncode else ""


def archived(tool, folder, name, *options):
    """Makes an archive of the two members; returns the error output, if any."""
    return said("python3", "-B", tool, "--out", folder / name, "--symbols", "names.txt", *options, "low.o", "high.o", cwd=folder)


def faults_of(tool, folder):
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    for member in ("low", "high"):
        common.output("g++", *FLAGS, "-c", f"{member}.cpp", "-o", f"{member}.all.o", cwd=folder)
        common.output("g++", "-r", "-nostdlib", "-Wl,--force-group-allocation", f"{member}.all.o", "-o", f"{member}.o",
                      cwd=folder)
    failed = archived(tool, folder, "one.a") or archived(tool, folder, "other.a", "--prefix=other_") or \
        said("g++", "main.cpp", "one.a", "other.a", "-o", "main", cwd=folder) or said("./main", cwd=folder)
    if failed:
        yield f"two members, two copies: {failed}"
        return
    common.output("g++", "alone.cpp", "one.a", "-o", "alone", cwd=folder)
    if said("./alone", cwd=folder) or "tw_count" in common.output("nm", "alone", cwd=folder):
        yield "a program has a member that it does not need"
    time.sleep(1.1)  # a timestamp in an archive would change
    archived(tool, folder, "again.a")
    if (folder / "one.a").read_bytes() != (folder / "again.a").read_bytes():
        yield "making the archive twice gives different bytes"


def check(_):
    with tempfile.TemporaryDirectory() as folder:
        yield from faults_of(TOOL, pathlib.Path(folder))


def planted(folder):
    for before, after, word in (("count > 1}", "count > 2}", "state is there twice"),
                                ("defined & needed |", "", "undefined reference to `low(int)'"),
                                ("options.prefix + INTERNAL", "INTERNAL", "multiple definition"),
                                ('"crsD"', '"crsU"', "making the archive twice"),
                                ('f"--keep-global-symbols={keep}"', '"-p"', "a template of the program's")):
        text = TOOL.read_text()
        assert text.count(before) == 1, f"archive.py has no {before}"
        (folder / "faulty.py").write_text(text.replace(before, after))
        common.expect(faults_of(folder / "faulty.py", folder), word)


if __name__ == "__main__":
    if not shutil.which("g++"):
        common.skip("there is no g++")
    common.run(check, planted)
