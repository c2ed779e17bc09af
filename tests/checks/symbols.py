#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The archive's global symbols are capi/symbols.txt, which are the header's functions; the archive
runs nothing before main(); and it calls nothing that prints, ends the process or changes it."""
import re
import subprocess

import common

DECLARED = re.compile(r"^TW_API\s[^;()]*?\b(tw_\w+)\s*\(", re.MULTILINE)


def declared(header):
    # Without comments: they name functions too.
    return set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", common.headers.text(header), flags=re.DOTALL)))


def defined(archive):
    lines = common.output("nm", "-g", "--defined-only", "--format=posix", archive).splitlines()
    return {line.split()[0] for line in lines if len(line.split()) >= 2 and line[-1] != ":"}


def differences(header, listing, archive):
    names = listing.read_text().split()
    if names != sorted(set(names)):
        yield f"{listing.name} is not sorted, or repeats a name"
    for a, b, what in ((declared(header), set(names), f"{header.name} declares %s, which "
                        f"{listing.name} lacks"),
                       (set(names), declared(header), f"{listing.name} has %s, which "
                        f"{header.name} lacks"),
                       (set(names), defined(archive), f"the library lacks %s"),
                       (defined(archive), set(names), f"the library defines %s, which "
                        f"{listing.name} lacks")):
        for name in sorted(a - b):
            yield what % name


def initialisers(archive):
    sections = set(re.findall(r"\s(\.(?:init_array|ctors|preinit_array|fini_array|dtors)\S*)\s",
                              common.output("readelf", "-SW", archive)))
    for section in sorted(name for name in sections if not name.startswith(".rela")):
        yield f"the library runs code at load or exit: section {section}"


# Of the C library; the C++ library's own come by a name of their own, std::cerr say. Not
# std::terminate: what is declared noexcept calls it in some compilers' code and not in others'.
FORBIDDEN = re.compile(
    r"^(abort|exit|_exit|_Exit|quick_exit|at_quick_exit|atexit|__cxa_atexit|raise|kill|v?printf|v?fprintf"
    r"|v?dprintf|puts|fputs|putchar|putc|fputc|fwrite|write|perror|psignal|signal|sigaction|sigprocmask"
    r"|setenv|putenv|unsetenv|setlocale|srand|srandom|chdir|umask|setrlimit|mallopt|pthread_atfork|fork"
    r"|system|popen|fesetround|fesetenv|_ZSt[34]c(out|err|log))(_chk)?(@.*)?$")


def called(archive):
    """Functions of others that the archive calls, fortified ones by their plain name."""
    lines = common.output("nm", "-u", "--format=posix", archive).splitlines()
    names = {line.split()[0] for line in lines if line.split()[1:2] == ["U"]}
    return {re.sub(r"^__(\w+)_chk$", r"\1", name) for name in names}


def intrusions(archive):
    for name in sorted(filter(FORBIDDEN.match, called(archive))):
        yield f"the library calls {name}, which is its user's to call"


def check(options):
    archive = options.archive
    capi = common.ROOT / "capi"
    yield from differences(common.HEADER, capi / "symbols.txt", archive)
    yield from initialisers(archive)
    yield from intrusions(archive)


def planted(folder):
    (folder / "h.h").write_text("/* TW_API int tw_comment(void); */\nTW_API int tw_a(void);\n"
                                "TW_API const char *tw_b(int x,\n  int y);\n")
    (folder / "s.txt").write_text("tw_a\ntw_c\n")
    (folder / "x.c").write_text("int tw_a(void) { return 1; }\nint foreign(void) { return 1; }\n"
                                "static int hidden(void) { return 1; }\nint (*use)(void) = hidden;\n"
                                "__attribute__((constructor)) static void early(void) { use = 0; }\n")
    subprocess.run(["cc", "-c", "x.c"], cwd=folder, check=True)
    subprocess.run(["ar", "crs", "x.a", "x.o"], cwd=folder, check=True)
    common.expect(differences(folder / "h.h", folder / "s.txt", folder / "x.a"),
                  "declares tw_b", "has tw_c", "lacks tw_c", "defines foreign", "defines use")
    common.expect(initialisers(folder / "x.a"), ".init_array")
    (folder / "loud.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int tw_a(int x) { if (x) abort(); fprintf(stderr, \"%d\", x); return (int)strlen(\"x\"); }\n")
    subprocess.run(["cc", "-O2", "-D_FORTIFY_SOURCE=2", "-c", "loud.c"], cwd=folder, check=True)
    common.expect(intrusions(folder / "loud.o"), "calls abort", "calls fprintf")


if __name__ == "__main__":
    common.run(check, planted, "archive")
