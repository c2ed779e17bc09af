#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the archive that users link from its members, relocatable objects in which section groups are
resolved. A program gets only the members that it needs. In a member a symbol is one of three:

    public    a function of the header: global, by its own name
    internal  global because several members use it, but hidden, and by a name that begins with INTERNAL:
              no program has such a name, and a shared object that holds the archive does not show it
    local     all others: no template instance or weak symbol of the library can meet one of the user's

With a prefix (-Dsymbol_prefix) it is in front of public and internal names.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

INTERNAL = "tilewright_internal_"

# As readelf says it: defined is False where the member needs the symbol of another.
Symbol = collections.namedtuple("Symbol", "name kind binding visibility defined")


def output(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def symbols(readelf, file):
    """The symbols of an object that are not local; of an archive, a list for each member, by its name."""
    members = {file.name: []}
    found = members[file.name]
    for line in output(readelf, "-sW", file).splitlines():
        words = line.split()
        if line.startswith("File: ") and line.endswith(")"):
            found = members.setdefault(line[line.rindex("(") + 1:-1], [])
        # Number, value, size, type, binding, visibility, perhaps words of the machine's, section, name.
        elif len(words) >= 8 and words[0][:-1].isdigit() and words[4] != "LOCAL":
            found.append(Symbol(words[-1], words[3], words[4], words[5], words[-2] != "UND"))
    return {name: found for name, found in members.items() if found}


def is_state(symbol):
    """An inline variable, a static variable of an inline function, the type of a class: each member that
    uses it defines it, and all of them must use the same. The standard library's are not hidden."""
    return symbol.kind in ("OBJECT", "TLS") and symbol.binding != "GLOBAL" and symbol.visibility == "HIDDEN"


def internal(members, public):
    """The names that several members use, and no program."""
    defined, needed, state = set(), set(), collections.Counter()
    for found in members:
        defined |= {symbol.name for symbol in found if symbol.defined}
        needed |= {symbol.name for symbol in found if not symbol.defined}
        state.update(symbol.name for symbol in found if symbol.defined and is_state(symbol))
    return (defined & needed | {name for name, count in state.items() if count > 1}) - public


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--symbols", type=pathlib.Path, required=True, help="file with the public names, one a line")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--objcopy", default="objcopy")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--ar", default="ar")
    parser.add_argument("members", nargs="+", type=pathlib.Path)
    options = parser.parse_args()

    public = set(options.symbols.read_text().split())
    found = [symbol for file in options.members for symbol in symbols(options.readelf, file).values()]
    names = {name: options.prefix + name for name in public}
    names |= {name: options.prefix + INTERNAL + name for name in internal(found, public)}
    options.out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out.parent) as made:
        keep, rename = pathlib.Path(made) / "keep", pathlib.Path(made) / "rename"
        keep.write_text("".join(f"{name}\n" for name in sorted(names)))
        rename.write_text("".join(f"{name} {new}\n" for name, new in sorted(names.items()) if name != new))
        copies = [pathlib.Path(made) / file.name for file in options.members]
        for file, copy in zip(options.members, copies):
            output(options.objcopy, f"--keep-global-symbols={keep}", file, copy)
            output(options.objcopy, f"--redefine-syms={rename}", copy)
        # D: no dates and owners, so that equal sources give equal bytes.
        output(options.ar, "crsD", options.out, *copies)


if __name__ == "__main__":
    main()
