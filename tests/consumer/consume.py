#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds outside projects with an installed copy of the library, moved after installation. Then repeats each
with a fault planted in a copy of prefix and sources (planted.py), which must fail. Usage: consume.py KIND BUILD
MESON..., where KIND is one of KINDS below."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import planted

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "capi" / "package"))
from archive import INTERNAL

EXAMPLES = ROOT / "examples"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Failed(SystemExit):
    """A command that failed, with its output."""

    def __init__(self, status, said):
        super().__init__(f"exit status {status}")
        self.said = said


def run(*command, **keywords):
    command = [str(c) for c in command]
    print("$", *command, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **keywords)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise Failed(done.returncode, done.stdout)
    return done.stdout


def install(meson, build, folder):
    """Installs, moves the prefix elsewhere, and returns its new place."""
    run(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder / "staged")
    config = next((folder / "staged").rglob("tilewright.pc"))
    prefix = config.parent
    while not (prefix / "include").is_dir():
        prefix = prefix.parent
    moved = folder / "moved somewhere" / "else"
    moved.parent.mkdir()
    shutil.move(prefix, moved)
    shutil.rmtree(folder / "staged")
    return moved


def leave(prefix, kind):
    """Removes the library that must not be linked: given both, every linker takes the shared one."""
    for library in prefix.rglob("libtilewright.*"):
        if ".so" in library.name and kind == "static" or library.suffix == ".a" and kind == "shared":
            library.unlink()
    if not list(prefix.rglob("libtilewright.*")):
        skip(f"this build installs no {kind} library")


def with_pkgconfig(prefix, **more):
    """The environment of a build that finds the library by pkg-config."""
    config = next(prefix.rglob("tilewright.pc")).parent
    return {**os.environ, "PKG_CONFIG_PATH": str(config), **more}


def flags(prefix, *options):
    """pkg-config's answer, unquoted as a shell would: the moved prefix has a space in its name."""
    text = run("pkg-config", *options, "tilewright", env=with_pkgconfig(prefix))
    return shlex.split(text)


def pkgconfig_c(prefix, folder):
    leave(prefix, "static")
    run("cc", "-std=c99", *WARNINGS, HERE / "main.c", *flags(prefix, "--cflags", "--libs",
                                                              "--static"), "-o", folder / "main")
    run(folder / "main")


def pkgconfig_shared(prefix, folder):
    """A C program with the shared library."""
    leave(prefix, "shared")
    names = {line.split()[0] for line in run("nm", "-D", "--defined-only", "--format=posix",
                                             shared(prefix)).splitlines()}
    wanted = set((ROOT / "capi" / "symbols.txt").read_text().split())
    if names != wanted:
        sys.exit(f"it exports other names than symbols.txt: {sorted(names ^ wanted)}")
    run("cc", "-std=c99", *WARNINGS, HERE / "main.c", *flags(prefix, "--cflags", "--libs"), "-o",
        folder / "main")
    needed = run("readelf", "-d", folder / "main")
    version = run("pkg-config", "--modversion", "tilewright", env=with_pkgconfig(prefix)).strip().split(".")
    so_version = ".".join(version[:2] if version[0] == "0" else version[:1])
    if f"[libtilewright.so.{so_version}]" not in needed or "libstdc++" in needed:
        sys.exit(f"the program does not need libtilewright.so.{so_version} alone")
    run(folder / "main", env={**os.environ, "LD_LIBRARY_PATH": str(shared(prefix).parent)})


def defined(file):
    """The global names that an archive or a program defines."""
    listed = subprocess.run(["nm", "-g", "--defined-only", "--format=posix", file], check=True, capture_output=True, text=True)
    return {line.split()[0] for line in listed.stdout.splitlines() if not line.endswith(":")}


def shared(prefix):
    found = [*prefix.rglob("libtilewright.so")]
    if not found:
        skip("this build installs no shared library")
    return found[0]


def cargo(prefix, folder):
    """The crates' own tests, and the program, from a copy, because cargo writes next to the sources."""
    if not shutil.which("cargo"):
        skip("there is no cargo")
    leave(prefix, "static")
    shutil.copytree(EXAMPLES / "rust", folder / "rust",
                    ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    environment = {**os.environ, "TILEWRIGHT_PREFIX": str(prefix),
                   "CARGO_TARGET_DIR": str(folder / "target"), "RUSTFLAGS": "-D warnings"}
    report = run("cargo", "test", "--offline", "--workspace", cwd=folder / "rust", env=environment)
    if "layouts::tw_gemm_desc ... ok" not in report or "one_plan_from_many_threads ... ok" not in report or \
            "every_target_has_its_images ... ok" not in report:
        sys.exit("the crates' tests were not run")
    run("cargo", "run", "--offline", "--quiet", "--", "host", cwd=folder / "rust", env=environment)


def golang(prefix, folder):
    """The package's tests, go vet, gofmt, and the program."""
    if not shutil.which("go"):
        skip("there is no go")
    leave(prefix, "static")
    # cgo does not accept flags with a space from pkg-config.
    plain = folder / "plain"
    prefix.rename(plain)
    # Go does not rebuild when pkg-config's answer changes, so that each run needs a cache of its own. It starts
    # with a copy of the first run's cache, which has Go's own packages.
    cache = folder / "go-cache"
    if (first := folder.parent / "work" / "go-cache").exists():
        shutil.copytree(first, cache)
    environment = with_pkgconfig(plain, GOFLAGS="-mod=mod", GOTOOLCHAIN="local", GOCACHE=str(cache))
    where = {"cwd": EXAMPLES / "go", "env": environment}
    if shutil.which("gofmt") and run("gofmt", "-l", ".", **where).strip():
        sys.exit("not formatted by gofmt")
    run("go", "vet", "./...", **where)
    run("go", "test", "-count=1", "-timeout=120s", "-failfast", "./...", **where)
    run("go", "build", "-o", folder / "program", "./copythengemm", **where)
    run(folder / "program", "host")


def python(prefix, folder):
    """The Python module with the shared library, in a Python that has NumPy if there is one."""
    library = shared(prefix)
    interpreter = next((name for name in ("python3", "/usr/bin/python3") if subprocess.run(
        [name, "-c", "import numpy"], capture_output=True).returncode == 0), "python3")
    report = run(interpreter, "-B", EXAMPLES / "python" / "test_tilewright.py",
                 env={**os.environ, "TILEWRIGHT_LIBRARY": str(library)})
    if "\nOK" not in report:
        sys.exit("the tests were not run")
    if "NumPy None" not in report:
        run(interpreter, "-B", EXAMPLES / "python" / "gemm.py",
            env={**os.environ, "TILEWRIGHT_LIBRARY": str(library)})


def pkgconfig_cpp(prefix, folder):
    """Every available compiler and linker, with the library first and last on the command line."""
    leave(prefix, "static")
    libs = flags(prefix, "--libs", "--static")
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            print(f"there is no {compiler}")
            continue
        run(compiler, "-std=c++20", *WARNINGS, "-c", HERE / "main.cpp", *flags(prefix, "--cflags"), "-o",
            folder / "main.o")
        by_every_linker(compiler, prefix, folder, libs)


def by_every_linker(compiler, prefix, folder, libs):
    for linker in ("bfd", "gold", "lld"):
        if not shutil.which(f"ld.{linker}"):
            print(f"there is no ld.{linker}")
            continue
        whole = [f"-fuse-ld={linker}", "-o", folder / f"main_{linker}"]
        run(compiler, folder / "main.o", *libs, *whole)
        run(folder / f"main_{linker}")
        # An archive that comes first is not needed by anything yet: --whole-archive includes all of it.
        first = ["-Wl,--whole-archive", next(prefix.rglob("libtilewright.a")),
                 "-Wl,--no-whole-archive"]
        rest = [lib for lib in libs if lib != "-ltilewright"]
        run(compiler, *first, folder / "main.o", *rest, *whole)
        run(folder / f"main_{linker}")


def two_objects(prefix, folder):
    """Two shared objects of one process, each with its own copy of the archive."""
    leave(prefix, "static")
    for name in ("first", "second"):
        run("cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", f"-DTWICE={name}", HERE / "twice.c",
            *flags(prefix, "--cflags", "--libs", "--static"), "-Wl,--exclude-libs,ALL", "-o",
            folder / f"lib{name}.so")
        exported = run("nm", "-D", "--defined-only", folder / f"lib{name}.so")
        if "tw_" in exported:
            sys.exit("the shared object exports the library's symbols")
    run("cc", HERE / "twice_main.c", f"-L{folder}", "-lfirst", "-lsecond",
        f"-Wl,-rpath,{folder}", "-o", folder / "main")
    run(folder / "main")


# The size limit in bytes of a stripped program with layouts and tensor maps; the whole archive has 7.6 MB.
SMALL = 1_500_000
LAYOUTS = r"tw_(layout|tuple|tiler|linear|swizzle|dtype|status|last_error|log|version)(_|$)"
# Each program, the functions that it must have, and a function of another member that it must not have.
SMALL_PROGRAMS = (("layouts", LAYOUTS, "tw_tensor_map_check"),
                  ("maps", LAYOUTS + r"|tw_(tensor|tensor_map|tile|rule)_", "tw_device_create"))


def small(prefix, folder):
    """Programs that use no device must contain nothing of devices and kernels."""
    leave(prefix, "static")
    functions = (ROOT / "capi" / "symbols.txt").read_text().split()
    for name, wanted, other in SMALL_PROGRAMS:
        every = [function for function in functions if re.match(wanted, function) and "_desc_from_" not in function]
        (folder / "every.inc").write_text("".join(f"EVERY({function})\n" for function in every))
        program = folder / name
        run("cc", "-std=c99", *WARNINGS, "-I", folder, *(["-DTENSOR_MAPS"] if name == "maps" else []), HERE / "small.c",
            *flags(prefix, "--cflags", "--libs", "--static"), "-o", program)
        if run(program) != f"{len(every)} functions\n":
            sys.exit(f"{name} has other functions than {len(every)}")
        if other in defined(program):
            sys.exit(f"the program {name} holds {other}, which it does not use")
        run("strip", program)
        size = program.stat().st_size
        print(f"{name}: {len(every)} functions, {size:,} bytes stripped", flush=True)
        if size > SMALL:
            sys.exit(f"the program {name} has {size:,} bytes, more than {SMALL:,}")


def with_prefix(archive, prefix, renamed):
    """A copy of the archive whose global names have a prefix, as archive.py renames them."""
    names = {name for name in defined(archive) if name.startswith(INTERNAL)}
    names |= set((ROOT / "capi" / "symbols.txt").read_text().split())
    (renamed.parent / "renames").write_text("".join(f"{name} {prefix}{name}\n" for name in sorted(names)))
    run("objcopy", f"--redefine-syms={renamed.parent / 'renames'}", archive, renamed)


def all_begin_with(prefix, archive):
    return all(name.startswith(prefix) for name in defined(archive))


def two_copies(prefix, folder):
    """Two copies in one program: one unchanged, one whose names have a prefix."""
    leave(prefix, "static")
    archive = next(prefix.rglob("libtilewright.a"))
    run(sys.executable, "-B", ROOT / "capi" / "package" / "prefix.py", "other_", ROOT / "capi" / "symbols.txt",
        prefix / "include" / "tilewright" / "tilewright.h", folder / "tilewright")
    with_prefix(archive, "other_", folder / "libother.a")
    if not all_begin_with("other_", folder / "libother.a"):
        sys.exit("a function has no prefix")
    objects = [folder / f"{name}{part}.o" for name in ("first", "second") for part in ("", "_classes")]
    for made in objects:
        second = ["-I", folder] if made.name.startswith("second") else []
        common = [*WARNINGS, f"-DTWICE={made.stem}", *second, "-I", prefix / "include", "-c", "-o", made]
        if made.stem.endswith("classes"):
            run("c++", "-std=c++20", *common, HERE / "twice_classes.cpp")
        else:
            run("cc", "-std=c99", *common, HERE / "twice.c")
    run("cc", "-DWITH_CLASSES", HERE / "twice_main.c", *objects, folder / "libother.a",
        archive, "-lstdc++", "-lm", "-pthread", "-ldl", "-o", folder / "main")
    run(folder / "main")


def dumped(info, folder):
    """Checks a kernel's images, if there are kernels."""
    kernels = json.loads(run(info, "--kernels", "--json"))
    if not kernels:
        return
    name = kernels[0]["name"]
    run(info, "--dump", name, cwd=folder)
    if not any(name in file.read_text() for file in folder.glob(f"{name}.*.ptx")) or \
            not any(file.read_bytes()[:4] == b"\x7fELF" for file in folder.glob(f"{name}.*.cubin")):
        sys.exit(f"--dump {name} writes {sorted(file.name for file in folder.iterdir())}")
    if subprocess.run([info, "--dump", "no_such"], cwd=folder, capture_output=True).returncode == 0:
        sys.exit("--dump accepts an unknown kernel")


def installed(prefix, folder):
    """The license; tilewright-info: its options, its answer to invalid ones, and the kernels that it dumps;
    tilewright-tune."""
    if (prefix / "share" / "licenses" / "tilewright" / "LICENSE").read_text() != (ROOT / "LICENSE").read_text():
        sys.exit("another LICENSE is installed")
    info = prefix / "bin" / "tilewright-info"
    version = run("pkg-config", "--modversion", "tilewright", env=with_pkgconfig(prefix)).strip()
    if run(info, "--version") != f"tilewright-info {version}\n":
        sys.exit("--version does not say the package's version")
    for option in ("--help", "--kernels", "--json", "--dump", "--version"):
        if f"tilewright-info {option}" not in run(info, "--help"):
            sys.exit(f"--help does not list {option}")
    if json.loads(run(info, "--json"))["version"] != version:
        sys.exit("--json does not say the package's version")
    for arguments, said in ((["--frobnicate"], "unknown option --frobnicate"), (["kernel"], "unexpected argument kernel"),
                            (["--dump"], "needs a kernel's name"), (["--dump", "k", "--json"], "goes with neither")):
        done = subprocess.run([info, *arguments], capture_output=True, text=True)
        if done.returncode != 2 or done.stdout or done.stderr.count("\n") != 1 or said not in done.stderr:
            sys.exit(f"{arguments}: exit status {done.returncode}, not \"{said}\": {done.stdout}{done.stderr}")
    dumped(info, folder)
    tuned(prefix / "bin" / "tilewright-tune", version, folder)


def tuned(tune, version, folder):
    """tilewright-tune writes a file that it can read again; its own test covers the rest."""
    if run(tune, "--version") != f"tilewright-tune {version}\n" or "--shapes FILE" not in run(tune, "--help"):
        sys.exit("tilewright-tune does not say what it is")
    file = folder / "tuning.txt"
    for more in ([], ["--merge"]):
        run(tune, "--device", "host", "--out", file, *more, "m=8 n=16 k=32")
        lines = file.read_text().splitlines()
        if len(lines) != 3 or not lines[2].startswith("bf16 bf16 f32 rcr 1 8 16 32 gemm_host_"):
            sys.exit(f"tilewright-tune writes {lines}")


def cmake(prefix, folder):
    if not shutil.which("cmake"):
        skip("there is no cmake")
    run("cmake", "-S", HERE, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    run(folder / "build" / "consumer_c")
    run(folder / "build" / "consumer_cpp")


def subproject(meson, folder):
    """The library built inside another project, without its tests."""
    outside = folder / "outside"
    (outside / "subprojects").mkdir(parents=True)
    shutil.copy(HERE / "outside.build", outside / "meson.build")
    for name in ("main.c", "main.cpp"):
        shutil.copy(HERE / name, outside)
    (outside / "subprojects" / "tilewright").symlink_to(ROOT)
    run(*meson, "setup", folder / "build", outside, "-Dtilewright:cuda=disabled",
        "-Dtilewright:symbol_prefix=outside_",
        "--buildtype=plain", "--wrap-mode=nodownload")
    run(*meson, "compile", "-C", folder / "build")
    run(*meson, "test", "-C", folder / "build", "--no-rebuild", "--print-errorlogs")
    if "outside_tw_gather_plan" not in run("nm", folder / "build" / "consumer_c"):
        sys.exit("the option symbol_prefix did nothing")
    archive, = (folder / "build").rglob("libtilewright.a")
    if not all_begin_with("outside_", archive):
        sys.exit("the option symbol_prefix leaves a name as it is")
    planted.wrong_rows(None, outside)
    must_fail("wrong rows", lambda: run(*meson, "test", "-C", folder / "build", "--print-errorlogs"))


def must_fail(words, attempt):
    """The attempt must fail with these words; a skip remains a skip."""
    try:
        attempt()
    except SystemExit as failure:
        if failure.code == 77:
            raise
        said = f"{failure.code}\n{getattr(failure, 'said', '')}"
        if words not in said:
            sys.exit(f'a planted fault did not make it say "{words}"')
    else:
        sys.exit(f'a planted fault passed; "{words}" was expected')


def with_fault(kind, prefix, folder, words, plant):
    """Runs the kind on copies of prefix and sources in which plant() makes a fault."""
    global HERE, EXAMPLES
    kept = HERE, EXAMPLES
    bad = folder / "prefix with a fault"
    shutil.copytree(prefix, bad, symlinks=True)
    HERE, EXAMPLES = folder / "consumer", folder / "examples"
    for source, copy in zip(kept, (HERE, EXAMPLES)):
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("target", "__pycache__"))
    plant(bad, HERE.parent)
    print(f"--- with a fault: {plant.__doc__}", flush=True)
    must_fail(words, lambda: kind(bad, folder))
    HERE, EXAMPLES = kept


KINDS = {"pkgconfig_c": pkgconfig_c, "pkgconfig_shared": pkgconfig_shared,
         "pkgconfig_cpp": pkgconfig_cpp, "two_objects": two_objects, "two_copies": two_copies,
         "small": small,
         "cmake": cmake, "installed": installed, "cargo": cargo, "go": golang, "python": python}


def main():
    kind, build, *meson = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if kind == "subproject":
            return subproject(meson, folder)
        prefix = install(meson, build, folder)
        untouched = folder / "untouched"  # a kind removes what it does not link
        shutil.copytree(prefix, untouched, symlinks=True)
        (folder / "work").mkdir()
        KINDS[kind](prefix, folder / "work")
        for words, plant in planted.FAULTS[kind]:
            (folder / plant.__name__).mkdir()
            with_fault(KINDS[kind], untouched, folder / plant.__name__, words, plant)


if __name__ == "__main__":
    main()
