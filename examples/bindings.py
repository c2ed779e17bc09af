#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the parts of other languages' bindings that depend on tilewright.h, from the header itself:

    examples/rust/tilewright-sys/src/bindings.rs   the whole file, with the layout of every struct
    examples/python/tilewright.py                  the tables between two marks
    examples/go/tilewright/constants.go            enumerations, and the initialization of every struct

bindings.py [--check | --layouts]. Without an option it writes the files. --check reports which files
are out of date. --layouts prints C assertions of every size and offset that the bindings rely on; a
C compiler checks them against the header. Needs only Python.
"""
import argparse
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent / "capi" / "tilewright.h"
sys.path.insert(0, str(HEADER.parent / "package"))
import headers
RUST = HERE / "rust" / "tilewright-sys" / "src" / "bindings.rs"
PYTHON = HERE / "python" / "tilewright.py"
GO = HERE / "go" / "tilewright" / "constants.go"
BEGIN, END = "# --- Made by bindings.py.", "# --- End of what bindings.py makes.\n"

# C's name: Rust's name, the name in Python's tables, size.
SCALARS = {"void": ("c_void", "void", 0), "char": ("c_char", "char", 1),
           "int32_t": ("i32", "i32", 4), "uint32_t": ("u32", "u32", 4),
           "int64_t": ("i64", "i64", 8), "uint64_t": ("u64", "u64", 8),
           "size_t": ("usize", "size", 8), "float": ("f32", "f32", 4),
           "double": ("f64", "f64", 8), "uint8_t": ("u8", "u8", 1), "uint16_t": ("u16", "u16", 2)}
LEAST = -2**63  # INT64_MIN; C and Rust have a name for it, but no literal
RESERVED = {"as", "box", "fn", "in", "loop", "match", "mod", "move", "mut", "ref", "self", "type",
            "use", "where", "yield"}


def spelled(value, least):
    """A constant's text in a language in which the smallest int64_t is called `least`."""
    if value >= LEAST // 2:
        return str(value)
    return least if value == LEAST else f"{least} + {value - LEAST}"


class Type:
    """A C type: `base`, behind one pointer per entry of `pointers`: whether that pointer's target is const."""

    def __init__(self, text):
        text = re.sub(r"\bstruct\b", " ", text)
        before, *stars = text.split("*")
        # `const` before the n-th asterisk (after the one before it) qualifies that pointer's target.
        self.pointers = ["const" in part for part in [before, *stars][:len(stars)]]
        self.base = before.replace("const", " ").strip()

    def rust(self):
        name = SCALARS[self.base][0] if self.base in SCALARS else self.base
        for is_const in self.pointers:
            name = f"*{'const' if is_const else 'mut'} {name}"
        return name

    def table(self):
        name = SCALARS[self.base][1] if self.base in SCALARS else self.base
        return name + "*" * len(self.pointers)


class Header:
    def __init__(self, path):
        text = re.sub(r"/\*.*?\*/", " ", headers.text(path), flags=re.DOTALL)
        self.constants = []  # (name, type, value)
        self.aliases = []    # names of enumerations, which are int32_t
        self.callbacks = []  # (name, result, parameters)
        self.structs = []    # (name, [(field, Type, count)])
        self.functions = []  # (name, Type, [(parameter, Type)])
        for name, value, minimum, above in re.findall(
                r"^#define (TW_\w+) (?:(\d+)|(\(?INT64_MIN)(?: \+ (\d+)\))?)\s*$", text, re.MULTILINE):
            self.constants.append((name, "i64", LEAST + int(above or 0)) if minimum
                                  else (name, "u32", int(value)))
        text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
        self.read_declarations(text)
        opaque = re.findall(r"\btypedef struct (tw_\w+) tw_\w+;", text)
        foreign = re.findall(r"^struct (CU\w+);", text, re.MULTILINE)
        self.opaque = opaque + foreign

    def read_declarations(self, text):
        alias = "i32"
        pattern = re.compile(r"typedef int32_t (?P<alias>\w+);|enum \{(?P<enum>[^}]*)\};"
                             r"|typedef struct (?P<struct>\w+) \{(?P<fields>[^}]*)\}"
                             r"|typedef (?P<result>\w+) \(\*(?P<callback>\w+)\)\((?P<takes>[^;]*)\);"
                             r"|TW_API (?P<gives>[^;()]*?)(?P<function>tw_\w+)\((?P<args>[^;]*)\);")
        end = 0
        for match in pattern.finditer(text):
            # An enumeration directly after an alias lists the alias's values.
            if text[end:match.start()].strip() or match["enum"] is None:
                alias = "i32"
            end = match.end()
            if match["alias"]:
                alias = match["alias"]
                self.aliases.append(alias)
            elif match["enum"]:
                for name, value in re.findall(r"(\w+)\s*=\s*(-?\d+)", match["enum"]):
                    self.constants.append((name, alias, int(value)))
            elif match["struct"]:
                self.structs.append((match["struct"], self.fields(match["fields"])))
            elif match["callback"]:
                self.callbacks.append((match["callback"], Type(match["result"]),
                                       self.parameters(match["takes"])))
            else:
                self.functions.append((match["function"], Type(match["gives"]),
                                       self.parameters(match["args"])))

    def inits(self):
        """(struct, its init function); every struct must have one."""
        known = {name for name, _, _ in self.functions}
        for name, _ in self.structs:
            if f"{name}_init" not in known:
                sys.exit(f"{HEADER}: {name} has no function {name}_init")
            yield name, f"{name}_init"

    @staticmethod
    def parameters(text):
        found = []
        for part in text.split(","):
            part = " ".join(part.split())
            if part != "void":
                kind, name = re.match(r"^(.*?)(\w+)$", part).groups()
                found.append((name, Type(kind)))
        return found

    def fields(self, text):
        found = []
        for part in text.split(";"):
            match = re.match(r"^(.*?)(\w+)(?:\[(\w+)\])?$", " ".join(part.split()))
            if match:
                count = match.group(3)
                if count and not count.isdigit():
                    count = {name: value for name, _, value in self.constants}[count]
                found.append((match.group(2), Type(match.group(1)), int(count) if count else None))
        return found

    def size(self, kind):
        if kind.pointers or any(kind.base == name for name, _, _ in self.callbacks):
            return 8
        return SCALARS["int32_t" if kind.base in self.aliases else kind.base][2]

    def layout(self, fields):
        """Size, alignment and field offsets, by the rules of every 64-bit C ABI."""
        at, alignment, offsets = 0, 1, []
        for _, kind, count in fields:
            size = self.size(kind)
            alignment = max(alignment, size)
            at = (at + size - 1) // size * size
            offsets.append(at)
            at += size * (count or 1)
        return (at + alignment - 1) // alignment * alignment, alignment, offsets


# --- Rust -----------------------------------------------------------------------------------

RUST_INITS = """
/// A struct of the C API: integers, floats and pointers to C's memory, the first of them its size.
///
/// # Safety
/// Only such structs may implement it, with their own init function.
pub unsafe trait Struct: Copy {
    const INIT: unsafe extern "C" fn(value: *mut Self, size: usize) -> tw_status;
}

macro_rules! structs {
    ($($name:ident: $init:ident,)*) => {$(
        unsafe impl Struct for $name {
            const INIT: unsafe extern "C" fn(value: *mut Self, size: usize) -> tw_status = $init;
        }
    )*};
}
"""

RUST_LAYOUTS = """
/// Every struct's size, alignment and offsets are the C compiler's.
#[cfg(test)]
mod layouts {
    use std::mem::{align_of, size_of, MaybeUninit};
    use std::ptr::addr_of;

    macro_rules! layout {
        ($name:ident, $size:expr, $align:expr, $($field:ident: $offset:expr),*) => {
            #[test]
            fn $name() {
                assert_eq!(size_of::<super::$name>(), $size);
                assert_eq!(align_of::<super::$name>(), $align);
                let value = MaybeUninit::<super::$name>::uninit();
                let start = value.as_ptr();
                $(assert_eq!(
                    unsafe { addr_of!((*start).$field) } as usize - start as usize,
                    $offset,
                    stringify!($field)
                );)*
            }
        };
    }
"""


def rust_name(name):
    return f"r#{name}" if name in RESERVED else name


def rust_function(name, result, parameters):
    words = [f"{rust_name(p)}: {kind.rust()}" for p, kind in parameters]
    gives = "" if result.table() == "void" else f" -> {result.rust()}"
    line = f"    pub fn {name}({', '.join(words)}){gives};"
    if len(line) <= 100:
        return [line]
    return [f"    pub fn {name}(", *(f"        {word}," for word in words), f"    ){gives};"]


def rust(header):
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Made by examples/bindings.py from capi/tilewright.h, which documents every name.",
             "use std::os::raw::{c_char, c_void};", ""]
    lines += [f"pub type {name} = i32;" for name in header.aliases]
    lines += [""] + [f"pub const {name}: {kind} = {spelled(value, 'i64::MIN')};"
                     for name, kind, value in header.constants]
    lines += ["", "/// A type of which only pointers exist, neither Send nor Sync by itself.",
              "macro_rules! opaque {", "    ($($name:ident),* $(,)?) => {$(", "        #[repr(C)]",
              "        pub struct $name {", "            _data: [u8; 0],",
              "            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,",
              "        }", "    )*};", "}", "opaque!("]
    lines += [f"    {name}," for name in header.opaque] + [");", ""]
    for name, result, parameters in header.callbacks:
        words = ", ".join(f"{rust_name(p)}: {kind.rust()}" for p, kind in parameters)
        gives = "" if result.table() == "void" else f" -> {result.rust()}"
        lines.append(f"pub type {name} =\n    Option<unsafe extern \"C\" fn({words}){gives}>;")
    for name, fields in header.structs:
        lines += ["", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
        for field, kind, count in fields:
            word = f"[{kind.rust()}; {count}]" if count else kind.rust()
            lines.append(f"    pub {rust_name(field)}: {word},")
        lines.append("}")
    lines += ["", 'extern "C" {']
    for function in header.functions:
        lines += rust_function(*function)
    lines += ["}"] + RUST_INITS.splitlines() + ["structs! {"]
    lines += [f"    {name}: {init}," for name, init in header.inits()]
    lines += ["}"] + RUST_LAYOUTS.splitlines()
    for name, fields in header.structs:
        size, alignment, offsets = header.layout(fields)
        words = ", ".join(f"{rust_name(field)}: {offset}"
                          for (field, _, _), offset in zip(fields, offsets))
        lines += ["", "    layout!("]
        lines += textwrap.wrap(f"{name}, {size}, {alignment}, {words}", 96,
                               initial_indent="        ", subsequent_indent="        ")
        lines += ["    );"]
    return "\n".join(lines) + "\n}\n"


# --- Python ---------------------------------------------------------------------------------


def filled(words):
    return textwrap.wrap(" ".join(words), 99, break_long_words=False, break_on_hyphens=False)


def python(header):
    lines = [BEGIN + " A word each: NAME=VALUE; STRUCT{TYPE NAME...; RESULT NAME(TYPES).",
             '_CONSTANTS = """']
    lines += filled(f"{name[3:]}={value}" for name, _, value in header.constants)
    lines += ['"""', "_ENUMERATIONS = \"\"\""] + filled(header.aliases)
    lines += ['"""', '_STRUCTS = """']
    for name, fields in header.structs:
        words = [f"{kind.table()}:{field}" + (f":{count}" if count else "")
                 for field, kind, count in fields]
        lines += textwrap.wrap(f"{name} " + " ".join(words), 99, subsequent_indent="  ")
    lines += ['"""', '_FUNCTIONS = """']
    lines += filled(f"{result.table()}:{name}({','.join(kind.table() for _, kind in parameters)})"
                    for name, result, parameters in header.functions)
    lines += ['"""', END.rstrip("\n")]
    return "\n".join(lines) + "\n"


def replaced(text, made):
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 or end < start:
        sys.exit(f"{PYTHON}: the marks of bindings.py are gone")
    return text[:start] + made + text[end + len(END):]


# --- Go -------------------------------------------------------------------------------------

# Alias: the Go type, the prefix of its constants in C and in Go, and a description of the type.
GO_TYPES = {"tw_status": ("Status", "TW_ERROR_", "Err", "what a call came to; Error carries one"),
            "tw_dtype": ("DType", "TW_DTYPE_", "", "the type of a tensor's elements"),
            "tw_op": ("Op", "TW_OP_", "Op", "whose plans a kernel serves"),
            "tw_per": ("Per", "TW_PER_", "Per", "where a vector has an element"),
            "tw_activation": ("Activation", "TW_ACTIVATION_", "Activation",
                              "a function applied to each element")}


def go_name(alias, name):
    """TW_ERROR_NO_DRIVER: ErrNoDriver; TW_DTYPE_U4X16_ALIGN8B: U4X16Align8B; TW_DTYPE_TF32_FTZ: TF32FTZ"""
    _, begins, first, _ = GO_TYPES[alias]
    words = name[len(begins):].split("_")
    kept = words[:1] if not first else []
    return first + "".join(kept) + "".join(
        word if word == "FTZ" else re.sub("[A-Z]+", lambda letters: letters[0].capitalize(), word, count=1)
        for word in words[len(kept):])


def go(header):
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Made by examples/bindings.py from tilewright.h.", "", "package tilewright", "",
             "// #include <tilewright/tilewright.h>", 'import "C"', "",
             "import (", '\t"strconv"', '\t"unsafe"', ")"]
    for alias, (kind, begins, _, text) in GO_TYPES.items():
        names = [name for name, of, _ in header.constants if of == alias and name.startswith(begins)]
        width = max(len(go_name(alias, name)) for name in names)
        lines += ["", f"// {kind} is a {alias}: {text}.", f"type {kind} int32", "",
                  f"// Every {begins} there is.", "const ("]
        lines += [f"\t{go_name(alias, name):{width}} {kind} = C.{name}" for name in names] + [")"]
    lines += ["", "// String is the operation's name in C's functions: of OpCopies \"copies\".",
              "func (o Op) String() string {", "\tswitch o {"]
    for name in (name for name, of, _ in header.constants if of == "tw_op"):
        lines += [f"\tcase {go_name('tw_op', name)}:", f'\t\treturn "{name[6:].lower()}"']
    lines += ["\t}", '\treturn "Op(" + strconv.Itoa(int(o)) + ")"', "}"]
    lines += ["", "// initialise calls the init function of the struct that a pointer is to.",
              "func initialise(pointer any) C.tw_status {", "\tswitch to := pointer.(type) {"]
    for name, init in header.inits():
        lines += [f"\tcase *C.{name}:", f"\t\treturn C.{init}(to, C.size_t(unsafe.Sizeof(*to)))"]
    lines += ["\t}", "\treturn C.TW_ERROR_STRUCT", "}"]
    return "\n".join(lines) + "\n"


# --- All ------------------------------------------------------------------------------------


def layouts(header):
    """C code that compiles only if the header's structs have the layouts that the bindings assume."""
    lines = ["#include <stddef.h>", "#include <tilewright/tilewright.h>"]

    def claim(name, what):
        lines.append(f"typedef char {name}[({what}) ? 1 : -1];")

    for name, fields in header.structs:
        size, _, offsets = header.layout(fields)
        claim(f"size_of_{name}", f"sizeof({name}) == {size}")
        for (field, _, _), offset in zip(fields, offsets):
            claim(f"place_of_{name}_{field}", f"offsetof({name}, {field}) == {offset}")
    for name, _, value in header.constants:
        claim(f"value_of_{name}", f"{name} == {spelled(value, 'INT64_MIN')}")
    return "\n".join(lines) + "\n"


def wanted(header):
    """path: its expected content"""
    return {RUST: rust(header), PYTHON: replaced(PYTHON.read_text(), python(header)),
            GO: go(header)}


def stale(header):
    for path, text in wanted(header).items():
        if not path.exists() or path.read_text() != text:
            yield (f"{path.relative_to(HERE.parent)}: is not what capi/tilewright.h says now; run "
                   "python3 examples/bindings.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--layouts", action="store_true")
    options = parser.parse_args()
    header = Header(HEADER)
    if options.layouts:
        print(layouts(header), end="")
        return
    if options.check:
        faults = list(stale(header))
        print("\n".join(faults))
        sys.exit(1 if faults else 0)
    for path, text in wanted(header).items():
        path.write_text(text)


if __name__ == "__main__":
    main()
