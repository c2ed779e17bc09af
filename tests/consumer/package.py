#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what pkg-config and CMake report: the library's location for several kinds of prefix, libdir and
includedir, and which requested versions are accepted. Usage: package.py MESON..."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# (libdir, includedir) relative to the prefix; an absolute path is relative to the folder above it.
FOLDERS = [("lib", "include"), ("lib/x86_64-linux-gnu", "include/some"), ("lib", "/dev/include"),
           ("/opt/lib64", "include"), ("/opt/lib64", "/dev/include")]

# (the library's version, the version that find_package() requests, whether it is accepted).
VERSIONS = [("0.1.0", "", True), ("0.1.0", "0.1", True), ("0.1.0", "0.0.5", False),
            ("0.2.1", "0.2", True), ("0.2.1", "0.1", False), ("0.2.1", "0.2.2", False), ("0.2.1", "0", True),
            ("0.1.0", "0.1.0 EXACT", True), ("0.1.0", "0.0.5 EXACT", False),
            ("0.1.0", "0.1.1", False), ("0.1.0", "0.2", False), ("0.1.0", "1.0", False),
            ("1.4.2", "1.0", True), ("1.4.2", "1.5", False), ("1.4.2", "0.9", False),
            ("2.0.0", "1.0", False), ("2.0.0", "2", True),
            ("0.1.0", "0.0.5...<0.1.0", False), ("0.1.0", "0.0.5...<0.1.1", True),
            ("0.1.0", "0.0.5...0.1.0", True), ("0.1.0", "0.0.5...0.0.9", False),
            ("0.1.0", "0.1.1...0.3", False), ("2.0.0", "1.0...<2", False),
            ("2.0.0", "1.0...<3", True)]

PROJECT = """
cmake_minimum_required(VERSION 3.19)
project(asks NONE)
set(asked "{asked}")
{places}
foreach(number RANGE {last})
  list(GET asked ${{number}} words)
  separate_arguments(words)
  find_package(tilewright ${{words}} QUIET CONFIG PATHS ${{place_${{number}}}} NO_DEFAULT_PATH)
  message(STATUS "${{number}} found ${{tilewright_FOUND}}")
  unset(tilewright_DIR CACHE)
endforeach()
if(TARGET tilewright::tilewright)
  get_target_property(library tilewright::tilewright IMPORTED_LOCATION)
  get_target_property(headers tilewright::tilewright INTERFACE_INCLUDE_DIRECTORIES)
  message(STATUS "library ${{library}}")
  message(STATUS "headers ${{headers}}")
endif()
"""


def run(*command, **keywords):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **keywords)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def ask_cmake(folder, questions):
    """The output of a project that calls find_package() with each (place, version)."""
    folder.mkdir()
    asked = ";".join(version or " " for _, version in questions)
    places = "".join(f'set(place_{i} "{place}")\n' for i, (place, _) in enumerate(questions))
    (folder / "CMakeLists.txt").write_text(
        PROJECT.format(last=len(questions) - 1, asked=asked, places=places))
    said = run("cmake", "-S", folder, "-B", folder / "build")
    return [line[3:] for line in said.splitlines() if line.startswith("-- ")]


def check_folders(meson, folder):
    """Configures as a user who installs to such folders would, and puts the installed metadata there."""
    for number, (libdir, includedir) in enumerate(FOLDERS):
        here = folder / f"of{number}"
        prefix = here / "prefix"
        lib, include = (f"{here}{d}" if d[0] == "/" else prefix / d for d in (libdir, includedir))
        given = [f"-D{name}={here}{value}" if value[0] == "/" else f"-D{name}={value}"
                 for name, value in (("libdir", libdir), ("includedir", includedir))]
        build = here / "build"
        run(*meson, "setup", build, ROOT, "-Dcuda=disabled", "-Dtests=disabled", "-Dexamples=disabled",
            f"--prefix={prefix}", *given)
        lib = pathlib.Path(lib)
        config, package = lib / "cmake" / "tilewright", lib / "pkgconfig"
        for where, names in ((config, ("tilewrightConfig.cmake", "tilewrightConfigVersion.cmake")),
                             (package, ("tilewright.pc",))):
            where.mkdir(parents=True)
            for name in names:
                shutil.copy(build / "capi" / name, where)
        flags = run("pkg-config", "--cflags", "--libs", "tilewright",
                    env={**os.environ, "PKG_CONFIG_PATH": str(package)}).split()
        told = {flag[:2]: pathlib.Path(flag[2:]).resolve() for flag in flags if flag[:2] in ("-I", "-L")}
        wanted = {"-I": pathlib.Path(include), "-L": lib}
        if told != wanted:
            sys.exit(f"libdir {libdir}, includedir {includedir}: pkg-config says {told}, not {wanted}")
        if shutil.which("cmake"):
            said = ask_cmake(here / "asks", [(config, "")])
            for line in (f"library {lib}/libtilewright.a", f"headers {include}"):
                if line not in said:
                    sys.exit(f"libdir {libdir}, includedir {includedir}: no {line!r} of CMake's in {said}")


def check_versions(folder):
    template = (ROOT / "capi" / "package" / "tilewrightConfigVersion.cmake.in").read_text()
    places = {}
    for version in {version for version, _, _ in VERSIONS}:
        places[version] = folder / version
        places[version].mkdir()
        (places[version] / "tilewrightConfig.cmake").write_text("")
        (places[version] / "tilewrightConfigVersion.cmake").write_text(
            template.replace("@VERSION@", version))
    said = ask_cmake(folder / "versions", [(places[version], asked) for version, asked, _ in VERSIONS])
    wrong = [f"{version} for \"{asked}\": {'refused' if taken else 'taken'}"
             for number, (version, asked, taken) in enumerate(VERSIONS)
             if f"{number} found {int(taken)}" not in said]
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        check_folders(sys.argv[1:], folder)
        if not shutil.which("cmake"):
            print("there is no cmake")
            return
        check_versions(folder)
    print(f"{len(FOLDERS)} pairs of folders, {len(VERSIONS)} requests")


if __name__ == "__main__":
    main()
