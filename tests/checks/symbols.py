#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The archive's global symbols must be capi/symbols.txt, which are the header's functions, and hidden internal
names that several members share. A member may need only those before it. The archive runs nothing before
main(), and calls nothing that prints, ends the process or changes it."""
import pathlib
import re
import subprocess

import common

import archive as archiver  # next to the header

DECLARED = re.compile(r"^TW_API\s[^;()]*?\b(tw_\w+)\s*\(", re.MULTILINE)


def declared(header):
    # Without comments, because they name functions, too.
    return set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", common.headers.text(header), flags=re.DOTALL)))


def defined(members):
    """The names that can clash with a program's: all but the internal ones."""
    return {symbol.name for found in members.values() for symbol in found
            if symbol.defined and not symbol.name.startswith(archiver.INTERNAL)}


def differences(header, listing, members):
    names = listing.read_text().split()
    if names != sorted(set(names)):
        yield f"{listing.name} is not sorted, or repeats a name"
    for a, b, what in ((declared(header), set(names), f"{header.name} declares %s, which "
                        f"{listing.name} lacks"),
                       (set(names), declared(header), f"{listing.name} has %s, which "
                        f"{header.name} lacks"),
                       (set(names), defined(members), f"the library lacks %s"),
                       (defined(members), set(names), f"the library defines %s, which "
                        f"{listing.name} lacks")):
        for name in sorted(a - b):
            yield what % name


def between_members(members):
    """Faults of the internal names, and of dependencies between members."""
    owners, users = {}, {}
    for member, found in members.items():
        for symbol in found:
            (owners if symbol.defined else users).setdefault(symbol.name, []).append(member)
            # The linker applies the visibility of the definition.
            if symbol.defined and symbol.name.startswith(archiver.INTERNAL) and symbol.visibility != "HIDDEN":
                yield f"{member}: {symbol.name} is internal and not hidden"
    order = list(members)
    for name, owner in owners.items():
        for user in users.get(name, []):
            if order.index(user) < min(map(order.index, owner)):
                yield f"{user} needs {name} of {owner[0]}, which is after it: src/meson.build has the order"
        if name.startswith(archiver.INTERNAL) and len(owner) + len(users.get(name, [])) < 2:
            yield f"{owner[0]}: {name} is not used by another member and must be local"
    for name in sorted(users.keys() - owners.keys()):
        if name.startswith(archiver.INTERNAL):
            yield f"{users[name][0]} needs {name}, which no member has"


def initialisers(archive):
    sections = set(re.findall(r"\s(\.(?:init_array|ctors|preinit_array|fini_array|dtors)\S*)\s",
                              common.output("readelf", "-SW", archive)))
    for section in sorted(name for name in sections if not name.startswith(".rela")):
        yield f"the library runs code at load or exit: section {section}"


# Functions of the C library; the C++ library's have mangled names, such as std::cerr. std::terminate is not
# listed, because some compilers call it from noexcept functions.
FORBIDDEN = re.compile(
    r"^(abort|exit|_exit|_Exit|quick_exit|at_quick_exit|atexit|__cxa_atexit|raise|kill|v?printf|v?fprintf"
    r"|v?dprintf|puts|fputs|putchar|putc|fputc|fwrite|write|perror|psignal|signal|sigaction|sigprocmask"
    r"|setenv|putenv|unsetenv|setlocale|srand|srandom|chdir|umask|setrlimit|mallopt|pthread_atfork|fork"
    r"|system|popen|fesetround|fesetenv|_ZSt[34]c(out|err|log))(_chk)?(@.*)?$")


def called(archive):
    """External functions that the archive calls; fortified ones by their ordinary name."""
    lines = common.output("nm", "-u", "--format=posix", archive).splitlines()
    names = {line.split()[0] for line in lines if line.split()[1:2] == ["U"]}
    return {re.sub(r"^__(\w+)_chk$", r"\1", name) for name in names}


def intrusions(archive):
    for name in sorted(filter(FORBIDDEN.match, called(archive))):
        yield f"the library must not call {name}"


def check(options):
    archive = options.archive
    members = archiver.symbols("readelf", pathlib.Path(archive))
    if len(members) < 2:
        yield f"the archive's members are {list(members)}"
    yield from differences(common.HEADER, common.ROOT / "capi" / "symbols.txt", members)
    yield from between_members(members)
    yield from initialisers(archive)
    yield from intrusions(archive)


def archived(folder, *names):
    """The symbols of an archive of these sources, one object each."""
    for name in names:
        subprocess.run(["cc", "-c", f"{name}.c"], cwd=folder, check=True)
    archive = folder / f"{names[0]}.a"
    subprocess.run(["ar", "crs", archive, *(f"{name}.o" for name in names)], cwd=folder, check=True)
    return archiver.symbols("readelf", archive)


def planted_members(folder):
    hidden = '__attribute__((visibility("hidden")))'
    (folder / "low.c").write_text(f"{hidden} int tilewright_internal_good(void) {{ return 1; }}\n"
                                  "int tilewright_internal_shown(void) { return 1; }\n"
                                  f"{hidden} int other_name(void) {{ return 1; }}\n"
                                  f"{hidden} int tilewright_internal_alone(void) {{ return 1; }}\n"
                                  f"{hidden} int tilewright_internal_up(void);\n"
                                  "int tw_low(void) { return tilewright_internal_up(); }\n")
    (folder / "high.c").write_text(f"{hidden} int tilewright_internal_up(void) {{ return 1; }}\n"
                                   f"{hidden} int tilewright_internal_good(void);\n"
                                   f"{hidden} int tilewright_internal_nowhere(void);\n"
                                   "int tilewright_internal_shown(void);\nint other_name(void);\n"
                                   "int tw_high(void) { return tilewright_internal_good() + other_name() +\n"
                                   "  tilewright_internal_shown() + tilewright_internal_nowhere(); }\n")
    (folder / "two.h").write_text("TW_API int tw_low(void);\nTW_API int tw_high(void);\n")
    (folder / "two.txt").write_text("tw_high\ntw_low\n")
    members = archived(folder, "low", "high")
    common.expect(differences(folder / "two.h", folder / "two.txt", members), "defines other_name")
    common.expect(sorted(between_members(members)), "high.o needs tilewright_internal_nowhere",
                  "low.o needs tilewright_internal_up of high.o",
                  "low.o: tilewright_internal_alone is not used by another",
                  "low.o: tilewright_internal_shown is internal and not hidden")


def planted(folder):
    (folder / "h.h").write_text("/* TW_API int tw_comment(void); */\nTW_API int tw_a(void);\n"
                                "TW_API const char *tw_b(int x,\n  int y);\n")
    (folder / "s.txt").write_text("tw_a\ntw_c\n")
    (folder / "x.c").write_text("int tw_a(void) { return 1; }\nint foreign(void) { return 1; }\n"
                                "static int hidden(void) { return 1; }\nint (*use)(void) = hidden;\n"
                                "__attribute__((constructor)) static void early(void) { use = 0; }\n")
    members = archived(folder, "x")
    common.expect(differences(folder / "h.h", folder / "s.txt", members),
                  "declares tw_b", "has tw_c", "lacks tw_c", "defines foreign", "defines use")
    planted_members(folder)
    common.expect(initialisers(folder / "x.a"), ".init_array")
    (folder / "loud.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int tw_a(int x) { if (x) abort(); fprintf(stderr, \"%d\", x); return (int)strlen(\"x\"); }\n")
    subprocess.run(["cc", "-O2", "-D_FORTIFY_SOURCE=2", "-c", "loud.c"], cwd=folder, check=True)
    common.expect(intrusions(folder / "loud.o"), "not call abort", "not call fprintf")


if __name__ == "__main__":
    common.run(check, planted, "archive")
