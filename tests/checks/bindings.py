#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checked-in bindings must be the output of examples/bindings.py for tilewright.h, and their struct layouts
must be those of a C compiler."""
import importlib.util
import subprocess

import common

SCRIPT = common.ROOT / "examples" / "bindings.py"


def load():
    spec = importlib.util.spec_from_file_location("bindings", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def misplaced(bindings, header, include):
    """What a compiler reports about the struct layouts that the bindings computed."""
    done = subprocess.run(["cc", "-std=c99", "-fsyntax-only", "-I", str(include), "-x", "c", "-"],
                          input=bindings.layouts(header), capture_output=True, text=True)
    if done.returncode:
        yield "the bindings' structs are not the header's: " + done.stderr


def unread(bindings, header):
    """Functions and structs that the script did not parse."""
    text = common.headers.text(bindings.HEADER)
    declared = text.count("\nTW_API ")
    if declared != len(header.functions):
        yield f"{declared} functions are declared, but {len(header.functions)} were parsed"
    structs = {row[0] for row in common.rows(common.ROOT / "capi" / "common" / "structs.inc", "TW_STRUCT")}
    for name in sorted(structs ^ {name for name, _ in header.structs}):
        yield f"{name} is in only one of structs.inc and the parsed header"


def by_value(header):
    """Structs passed or returned by value: a struct that grows would break every linked program."""
    structs = {name for name, _ in header.structs}
    for name, result, parameters in header.functions:
        for word, kind in [("its result", result), *((parameter, kind) for parameter, kind in parameters)]:
            if kind.base in structs and not kind.pointers:
                yield f"{name}: {word} is a {kind.base} by value"


def installed(folder, header):
    """A folder in which <tilewright/tilewright.h> has this text."""
    (folder / "tilewright").mkdir()
    (folder / "tilewright" / "tilewright.h").write_text(header)
    return folder


def check(_):
    import pathlib
    import tempfile
    bindings = load()
    header = bindings.Header(bindings.HEADER)
    yield from bindings.stale(header)
    yield from unread(bindings, header)
    yield from by_value(header)
    with tempfile.TemporaryDirectory() as name:
        yield from misplaced(bindings, header,
                             installed(pathlib.Path(name), common.headers.text(bindings.HEADER)))


def planted(folder):
    bindings = load()
    real = common.headers.text(bindings.HEADER)
    # A field that was added to the header but not to the bindings.
    grown = real.replace("} tw_copy_args;", "  uint64_t more;\n} tw_copy_args;")
    assert grown != real
    bindings.HEADER = folder / "grown.h"
    bindings.HEADER.write_text(grown)
    common.expect(bindings.stale(bindings.Header(bindings.HEADER)), "bindings.rs", "tilewright.py")
    bindings.HEADER.write_text(real.replace("TW_OP_COPY = 1,", "TW_OP_COPY = 1,\n  TW_OP_MORE = 9999,"))
    common.expect(bindings.stale(bindings.Header(bindings.HEADER)), "bindings.rs", "tilewright.py",
                  "constants.go")
    bindings.HEADER.write_text(real.replace("tw_status tw_stream_query(tw_stream *stream);",
                                            "tw_status tw_stream_query(tw_copy_args args);\n"
                                            "TW_API tw_plan_info tw_stream_ask(tw_stream *stream);"))
    common.expect(by_value(bindings.Header(bindings.HEADER)), "tw_stream_query: args is a tw_copy_args",
                  "tw_stream_ask: its result")
    # Layouts computed from the real header, checked with a header in which a struct has grown.
    bindings.HEADER.write_text(real)
    common.expect(misplaced(bindings, bindings.Header(bindings.HEADER), installed(folder, grown)),
                  "size_of_tw_copy_args")


if __name__ == "__main__":
    common.run(check, planted)
