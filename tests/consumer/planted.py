# SPDX-License-Identifier: Apache-2.0
"""Faults that a consumer must notice, and what it then prints. Each is planted in copies: `prefix` is an
install prefix, `sources` a folder that contains the folders consumer and examples. The docstrings are printed."""
import re
import subprocess


def edit(path, before, after):
    text = path.read_text()
    changed = re.sub(before, after, text)
    if changed == text:
        raise AssertionError(f"{path} has no {before}: the fault cannot be planted")
    path.write_text(changed)


def archive(prefix):
    return next(prefix.rglob("libtilewright.a"))


def compiled(folder, text):
    """An object file compiled from this C text."""
    (folder / "planted.c").write_text(text)
    subprocess.run(["cc", "-c", "-fPIC", "planted.c", "-o", "planted.o"], cwd=folder, check=True)
    return folder / "planted.o"


def fixed_prefix(prefix, _):
    """pkg-config names the place of installation, from which the prefix was moved"""
    edit(next(prefix.rglob("tilewright.pc")), r"prefix=.*", "prefix=/nowhere")


def wrong_rows(_, sources):
    """the rows come out in another order"""
    folder = sources / "consumer" if (sources / "consumer").is_dir() else sources
    edit(folder / "main.c", r"index\[2\] = \{1, 0\}", "index[2] = {0, 1}")


def foreign_export(prefix, sources):
    """the shared library exports a function that is not in symbols.txt"""
    library = next(path for path in prefix.rglob("libtilewright.so*") if not path.is_symlink())
    subprocess.run(["c++", "-shared", "-o", library, "-Wl,--whole-archive", archive(prefix),
                    "-Wl,--no-whole-archive", compiled(sources, "int foreign(void) { return 1; }"),
                    "-pthread", "-ldl"], check=True)


def foreign_template(prefix, sources):
    """the archive exports an instance of a template that the program instantiates, too"""
    subprocess.run(["c++", "-std=c++20", "-I", prefix / "include", "-c",
                    sources / "consumer" / "main.cpp", "-o", sources / "main.o"], check=True)
    listed = subprocess.run(["nm", "--format=posix", sources / "main.o"], check=True,
                            capture_output=True, text=True).stdout
    name = re.search(r"^(_ZNSt6vectorIfSaIfEE\S*) W ", listed, re.MULTILINE).group(1)
    member = compiled(sources, f'void f(void) __asm__("{name}");\n'
                               "void f(void) { __builtin_trap(); }\n")
    subprocess.run(["ar", "rs", archive(prefix), member], check=True, capture_output=True)


def no_archive(prefix, sources):
    """--exclude-libs does not apply to the library's symbols"""
    subprocess.run(["ar", "x", archive(prefix)], cwd=sources, check=True)
    archive(prefix).write_text("INPUT(" + " ".join(f'"{o}"' for o in sources.glob("*.o")) + ")\n")


def without_prefix(prefix, sources):
    """the archive has a function that is not in symbols.txt"""
    member = compiled(sources, "int tw_unlisted(void) { return 1; }")
    subprocess.run(["ar", "rs", archive(prefix), member], check=True, capture_output=True)


def one_object(prefix, sources):
    """the archive is one object"""
    subprocess.run(["ar", "x", archive(prefix)], cwd=sources, check=True)
    subprocess.run(["ld", "-r", "-o", "all.o", *(path.name for path in sources.glob("*.o"))], cwd=sources, check=True)
    made = archive(prefix)
    made.unlink()
    subprocess.run(["ar", "crs", made, sources / "all.o"], check=True)


def heavy_layouts(prefix, sources):
    """the archive member of the layouts is as large as the kernels"""
    subprocess.run(["ar", "x", archive(prefix), "layout.o"], cwd=sources, check=True)
    kernels = compiled(sources, "const char kernels[1500000] = {1};\n")
    subprocess.run(["ld", "-r", "-o", "both.o", "layout.o", kernels], cwd=sources, check=True)
    (sources / "both.o").rename(sources / "layout.o")
    subprocess.run(["ar", "r", archive(prefix), "layout.o"], cwd=sources, check=True)


def one_namespace(prefix, _):
    """the C++ classes of all copies have the same name"""
    for name in ("tilewright", "error"):
        edit(prefix / "include" / "tilewright" / f"{name}.hpp", "inline namespace TILEWRIGHT_NAMESPACE",
             "inline namespace v0")


def fixed_place(prefix, _):
    """the CMake package names the place of installation"""
    edit(next(prefix.rglob("tilewrightConfig.cmake")), r"\$\{CMAKE_CURRENT_LIST_DIR\}", "/nowhere")


def other_licence(prefix, _):
    """the license is of another year"""
    edit(next(prefix.rglob("LICENSE")), "January 2004", "January 2005")


def deaf_tool(prefix, _):
    """tilewright-info accepts every option"""
    tool = prefix / "bin" / "tilewright-info"
    tool.rename(tool.with_name("real"))
    tool.write_text('#!/bin/sh\ncase $1 in --frob*) exit 0 ;; esac\nexec "${0%/*}/real" "$@"\n')
    tool.chmod(0o755)


def forgetful_tool(prefix, _):
    """tilewright-tune writes an empty file"""
    tool = prefix / "bin" / "tilewright-tune"
    tool.rename(tool.with_name("real"))
    tool.write_text('#!/bin/sh\ncase $1 in --device) : >"$4"; exit 0 ;; esac\nexec "${0%/*}/real" "$@"\n')
    tool.chmod(0o755)


def swapped_fields(_, sources):
    """the Rust bindings have two fields of a struct in another order"""
    edit(sources / "examples" / "rust" / "tilewright-sys" / "src" / "bindings.rs",
         r"(pub struct tw_gemm_args \{\n(?:.*\n)*?)(    pub a: u64,\n)(    pub b: u64,\n)", r"\1\3\2")


def swapped_operands(_, sources):
    """the Go package swaps source and destination of a copy"""
    edit(sources / "examples" / "go" / "tilewright" / "plan.go", "args.src, args.dst = ",
         "args.dst, args.src = ")


def no_release(_, sources):
    """the Go package does not release an imported tensor"""
    edit(sources / "examples" / "go" / "tilewright" / "release.go", r"\n\trelease\(\)", "\n\t_ = release")


def swapped_numbers(_, sources):
    """the Python module swaps the two numbers of an error"""
    edit(sources / "examples" / "python" / "tilewright.py", "= info.index, info.got, info.limit",
         "= info.index, info.limit, info.got")


# kind: words that it prints, and the fault
FAULTS = {"pkgconfig_c": [("tilewright/tilewright.h", fixed_prefix), ("exit status 1", wrong_rows)],
          "pkgconfig_shared": [("other names than symbols.txt", foreign_export)],
          "pkgconfig_cpp": [("exit status -", foreign_template)],
          "two_objects": [("exports the library's symbols", no_archive)],
          "two_copies": [("a function has no prefix", without_prefix),
                         ("an error of another copy", one_namespace)],
          "small": [("the program layouts holds tw_tensor_map_check", one_object),
                    ("bytes, more than", heavy_layouts)],
          "cmake": [("exit status", fixed_place)],
          "installed": [("another LICENSE", other_licence), ("unknown option --frobnicate", deaf_tool),
                        ("tilewright-tune writes", forgetful_tool)],
          "cargo": [("tw_gemm_args ... FAILED", swapped_fields)],
          "go": [("--- FAIL: TestBorrowedMemory", swapped_operands),
                 ("--- FAIL: TestDLPack", no_release)],
          "python": [("FAILED (", swapped_numbers)]}
