#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The embedded kernels against their tables: for each architecture exactly one function for each
row whose feature it has, in the row's shard; the instructions that a feature stands for in the
machine code of its rows; each family rebuilt by its own files alone; and the archive holding the
bytes that were built last. Of a build with -Dkernels the chosen rows count, and the host's table has
the others too."""
import hashlib
import importlib.util
import pathlib
import re
import shutil
import struct
import subprocess

import common

KERNELS = common.ROOT / "src" / "kernels"

# Machine code of 10.0: an instruction's name, its opcode (the low 12 bits of the first of its two
# words) and its mode (bits 19 and 20 of the second), as nvdisasm 13 reads them. Mode 0 is the plain
# tile.
INSTRUCTIONS = {"gather4": ("UTMALDG.2D.GATHER4", 0x5B4, 2),
                "scatter4": ("UTMASTG.2D.SCATTER4", 0x3B5, 1)}


def build_module(name):
    spec = importlib.util.spec_from_file_location(name, KERNELS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


choose = build_module("choose")


def arch_features():
    return {name: set(row[2]) for name, row in build_module("archs").archs().items()}


def wanted(table, shard, features):
    """Symbols of the rows that a shard has for an architecture of these features."""
    return sorted(row.symbol for row in choose.rows(table) if row.shard == shard and row.feature in features)


def sections(data):
    """(name, type, link, offset, size) of an ELF file's sections."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    found = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    for section in found:
        start = found[names][4] + section[0]
        name = data[start:data.index(b"\0", start)].decode()
        yield name, section[1], section[6], section[4], section[5]


def instructions(data, function):
    """(opcode, mode) of each instruction of a function."""
    for name, _, _, offset, size in sections(data):
        if name == ".text." + function:
            for at in range(offset, offset + size, 16):
                low, high = struct.unpack_from("<QQ", data, at)
                yield low & 0xFFF, high >> 19 & 3


def without_instructions(image, table, shard):
    """Rows of an image that lack the instruction that their feature stands for."""
    data = image.read_bytes()
    for feature, (name, opcode, mode) in INSTRUCTIONS.items():
        for row in wanted(table, shard, {feature}):
            if (opcode, mode) not in instructions(data, row):
                yield f"{image.name}: {row} has no {name}"


def functions(image):
    """Global functions of a cubin, entries of a PTX text."""
    data = image.read_bytes()
    if data[:4] != b"\x7fELF":
        return sorted(re.findall(r"^\s*(?:\.visible\s+)?\.entry\s+(\w+)",
                                 data.decode("utf-8", "replace"), re.MULTILINE))
    found = list(sections(data))
    names = []
    for _, kind, link, offset, length in found:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = found[link][3]
        for at in range(offset, offset + length, 24):
            name, info, _, place = struct.unpack_from("<IBBH", data, at)
            if info == 0x12 and place != 0:  # global function, defined
                start = strings + name
                names.append(data[start:data.index(b"\0", start)].decode())
    return sorted(names)


def images(folder):
    """(family, shard, architecture, file) of everything that nvcc built."""
    for image in sorted(folder.glob("*.bin")):
        match = re.match(r"(\w+)_(\d+)\.(\w+)\.bin$", image.name)
        if match:
            yield match.group(1), int(match.group(2)), match.group(3), image


def contents(folder, tables, archs):
    for family, shard, arch, image in images(folder):
        has = functions(image)
        for name in sorted(set(has)):
            if has.count(name) > 1:
                yield f"{image.name}: {name} is there {has.count(name)} times"
        needs = wanted(tables / family / "kernels.inc", shard, archs[arch])
        for name in sorted(set(needs) - set(has)):
            yield f"{image.name}: {name} is a row of {family}/kernels.inc and missing"
        for name in sorted(set(has) - set(needs)):
            yield f"{image.name}: {name} is no row of {family}/kernels.inc for {arch}"
        if archs[arch] & set(INSTRUCTIONS) and image.read_bytes()[:4] == b"\x7fELF":
            yield from without_instructions(image, tables / family / "kernels.inc", shard)


def unbuilt(folder, tables):
    """Shards of the tables that have rows and no image."""
    built = {(family, shard) for family, shard, _, _ in images(folder)}
    for table in sorted(tables.glob("*/kernels.inc")):
        for shard in sorted({row.shard for row in choose.rows(table)}):
            if (table.parent.name, shard) not in built:
                yield f"{table.parent.name}_{shard}: not built, and kernels.inc has rows of it"


def dependencies(build, image):
    """What ninja knows that an image was made from."""
    return subprocess.run(["ninja", "-C", str(build), "-t", "deps", str(image.relative_to(build))],
                          capture_output=True, text=True).stdout


def foreign(image, family, listed):
    """Files of other families that an image is rebuilt for, and its own table if it is not."""
    paths = [line.strip() for line in listed.splitlines() if line.startswith("    ")]
    if not any(path.endswith(f"kernels/{family}/kernels.inc") for path in paths):
        yield f"{image.name}: not rebuilt when {family}/kernels.inc changes"
    for path in paths:
        other = re.search(r"src/kernels/(\w+)/(?:kernels\.inc|\w+\.cu)$", path)
        if other and other.group(1) != family:
            yield f"{image.name}: rebuilt when {other.group(1)}'s {pathlib.Path(path).name} changes"


def embedded(fatbins, assembler, archive):
    text = assembler.read_text()
    held = archive.read_bytes()
    for fatbin in fatbins:
        data = fatbin.read_bytes()
        if hashlib.sha256(data).hexdigest() not in text:
            yield f"{assembler.name}: has not the hash of {fatbin.name}"
        if data not in held:
            yield f"{archive.name}: has not the bytes of {fatbin.name}"


def check(options):
    build = pathlib.Path(options.build).resolve()
    folder = build / "src" / "kernels"
    built = list(images(folder))
    if not built:
        yield f"{folder}: nothing was built"
    archs = arch_features()
    # The tables that device code was compiled from.
    chosen = folder / "chosen" / "kernels"
    tables = chosen if chosen.is_dir() else KERNELS
    yield from contents(folder, tables, archs)
    yield from unbuilt(folder, tables)
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    for family, _, _, image in built if ninja else []:
        yield from foreign(image, family, dependencies(build, image))
    yield from embedded(sorted(folder.glob("*.fatbin")), folder / "kernel_images.S",
                        build / "capi" / "libtilewright.a")


def planted(folder):
    tables = folder / "tables"
    (tables / "f").mkdir(parents=True)
    (tables / "f" / "kernels.inc").write_text(
        "TW_F(tma, 0, a)\nTW_F(wgmma, 0, b)\nTW_F(tma, 1, c)\nTW_F(tma, 0, d)\nTW_F(host, -1, h)\n")
    (folder / "f_0.compute_90.bin").write_text(".visible .entry a(\n.visible .entry b(\n")
    archs = {"compute_90": {"tma"}, "sm_90a": {"tma", "wgmma"}}
    common.expect(contents(folder, tables, archs), "d is a row", "b is no row")
    common.expect(unbuilt(folder, tables), "f_1: not built")
    # A host program's symbol table has the form of a cubin's.
    (folder / "x.c").write_text("int c(void) { return 1; }\nstatic int s(void) { return 2; }\n"
                                "int (*use)(void) = s;\nint other(void);\n")
    subprocess.run(["cc", "-c", "x.c", "-o", "f_1.sm_90a.bin"], cwd=folder, check=True)
    assert functions(folder / "f_1.sm_90a.bin") == ["c"]
    # Two functions of one instruction each, in sections of their own: the second is a plain tile.
    words = {"four": "0x08040075b4, 0x37ee0008108000", "plain": "0x08080075b4, 0x37f40008008000"}
    (folder / "y.s").write_text("".join(
        f".section .text.{name}, \"ax\"\n.quad {code}\n" for name, code in words.items()))
    (tables / "g").mkdir()
    (tables / "g" / "kernels.inc").write_text("TW_G(gather4, 0, four)\nTW_G(gather4, 0, plain)\n")
    subprocess.run(["cc", "-c", "y.s", "-o", "y.o"], cwd=folder, check=True)
    faults = list(without_instructions(folder / "y.o", tables / "g" / "kernels.inc", 0))
    assert len(faults) == 1 and "plain has no UTMALDG.2D.GATHER4" in faults[0], faults
    common.expect(foreign(folder / "x.bin", "f", "x.bin: #deps 2\n    ../src/kernels/f/f.cu\n"
                          "    ../src/kernels/g/kernels.inc\n"),
                  "not rebuilt when f/kernels.inc", "g's kernels.inc")
    (folder / "a.fatbin").write_bytes(b"new bytes")
    (folder / "a.S").write_text("sha256 " + hashlib.sha256(b"old bytes").hexdigest())
    (folder / "a.a").write_bytes(b"....old bytes....")
    common.expect(embedded([folder / "a.fatbin"], folder / "a.S", folder / "a.a"), "hash", "bytes")


if __name__ == "__main__":
    common.run(check, planted, "build")
