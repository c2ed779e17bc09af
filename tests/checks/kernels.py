#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the embedded kernels against their tables. For each architecture there must be exactly one function
for each kernel entry whose feature it has, in the entry's part, and its machine code must contain the
instruction of the feature. Each translation unit must be rebuilt when its own or shared sources change, and not
for another unit's body or entries. The archive must contain the bytes that were built last. With -Dkernels only
the chosen kernels are built, but the host's table has all."""
import hashlib
import importlib.util
import pathlib
import re
import shutil
import struct
import subprocess

import common

KERNELS = common.ROOT / "src" / "kernels"

# Machine code of 10.0: an instruction's name, its opcode (the low 12 bits of its first word) and its mode (bits
# 19 and 20 of its second word), as nvdisasm 13 decodes them. Mode 0 is the ordinary tile.
INSTRUCTIONS = {"gather4": ("UTMALDG.2D.GATHER4", 0x5B4, 2),
                "scatter4": ("UTMASTG.2D.SCATTER4", 0x3B5, 1)}


def build_module(name):
    spec = importlib.util.spec_from_file_location(name, KERNELS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


units = build_module("units")


def arch_features():
    return {name: set(row[2]) for name, row in build_module("archs").archs().items()}


def wanted(part, features):
    """The kernels of a part for an architecture with these features."""
    return sorted(entry.symbol for entry in part.entries if entry.feature in features)


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


def without_instructions(image, part):
    """Kernels of an image that lack the instruction of their feature."""
    data = image.read_bytes()
    for feature, (name, opcode, mode) in INSTRUCTIONS.items():
        for kernel in wanted(part, {feature}):
            if (opcode, mode) not in instructions(data, kernel):
                yield f"{image.name}: {kernel} has no {name}"


def functions(image):
    """The global functions of a cubin, or the entries of a PTX text."""
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
    """(part, architecture, file) of everything that nvcc built."""
    for image in sorted(folder.glob("*.bin")):
        match = re.match(r"(\w+_\d+)\.(\w+)\.bin$", image.name)
        if match:
            yield match.group(1), match.group(2), image


def contents(folder, parts, archs):
    for name, arch, image in images(folder):
        has = functions(image)
        for kernel in sorted(set(has)):
            if has.count(kernel) > 1:
                yield f"{image.name}: {kernel} is defined {has.count(kernel)} times"
        if name not in parts:
            yield f"{image.name}: no kernel entry belongs to this part"
            continue
        needs = wanted(parts[name], archs[arch])
        for kernel in sorted(set(needs) - set(has)):
            yield f"{image.name}: {kernel} has an entry of this part and is missing"
        for kernel in sorted(set(has) - set(needs)):
            yield f"{image.name}: {kernel} has no entry of this part for {arch}"
        if archs[arch] & set(INSTRUCTIONS) and image.read_bytes()[:4] == b"\x7fELF":
            yield from without_instructions(image, parts[name])


def waits_on_constants(folder):
    """Kernels that wait for a predecessor grid and load memory as constant: such memory must be constant for
    the whole grid, which begins before the wait."""
    for _, _, image in images(folder):
        text = image.read_bytes()
        if text[:4] == b"\x7fELF":
            continue
        for entry in re.split(r"^\s*(?:\.visible\s+)?\.entry\s+", text.decode("utf-8", "replace"), flags=re.MULTILINE)[1:]:
            if "griddepcontrol.wait" in entry and re.search(r"\bld\.global[.\w:]*\.nc\b", entry):
                name = re.match(r"\w+", entry)[0]
                yield f"{image.name}: {name} waits for a predecessor grid and uses ld.global.nc"


def unbuilt(folder, parts):
    """Parts with kernel entries but without an image."""
    for name in sorted(set(parts) - {name for name, _, _ in images(folder)}):
        yield f"{name}: has kernel entries but was not built"


def dependencies(build, image):
    """The files from which an image was made, according to ninja."""
    return subprocess.run(["ninja", "-C", str(build), "-t", "deps", str(image.relative_to(build))],
                          capture_output=True, text=True).stdout


def foreign(image, part, parts, kernels, listed):
    """Files of other units for which an image is rebuilt, and its own files for which it is not."""
    def name(path):
        return path.relative_to(kernels).as_posix()
    # Relative to the folder kernels/, of the sources or of the generated tables of chosen kernels.
    paths = {line.strip().rpartition("/kernels/")[2] for line in listed.splitlines() if line.startswith("    ")}
    own = {name(part.source), name(part.table)}
    for path in sorted(own - paths):
        yield f"{image.name}: not rebuilt when {path} changes"
    others = {name(path) for other in parts.values() if other.source != part.source
              for path in (other.source, other.source.with_suffix(".cuh"), other.table)}
    for path in sorted(paths - own):
        if path in others or path.endswith("kernels.inc"):
            yield f"{image.name}: rebuilt when {path}, which is another unit's, changes"


def embedded(fatbins, assembler, archive):
    text = assembler.read_text()
    held = archive.read_bytes()
    for fatbin in fatbins:
        data = fatbin.read_bytes()
        if hashlib.sha256(data).hexdigest() not in text:
            yield f"{assembler.name}: lacks the hash of {fatbin.name}"
        if data not in held:
            yield f"{archive.name}: lacks the bytes of {fatbin.name}"


def chosen_of(parts, folder):
    """The parts of this build by name: all, or with -Dkernels those with chosen kernels, reduced to these."""
    names = folder / "chosen" / "names.txt"
    if names.exists():
        chosen = set(names.read_text().split())
        for part in parts:
            part.entries = [entry for entry in part.entries if entry.symbol in chosen]
    return {part.name: part for part in parts if part.entries}


def check(options):
    build = pathlib.Path(options.build).resolve()
    folder = build / "src" / "kernels"
    built = list(images(folder))
    if not built:
        yield f"{folder}: nothing was built"
    archs = arch_features()
    parts = chosen_of(units.parts(), folder)
    yield from contents(folder, parts, archs)
    yield from unbuilt(folder, parts)
    yield from waits_on_constants(folder)
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    for name, _, image in built if ninja else []:
        if name in parts:
            yield from foreign(image, parts[name], parts, KERNELS, dependencies(build, image))
    yield from embedded(sorted(folder.glob("*.fatbin")), folder / "kernel_images.S",
                        build / "capi" / "libtilewright.a")


def planted_units(kernels, texts):
    """Tables and units that do not match are refused."""
    for name, text, word in (
            ("f/x/f_more.inc", "TW_F(tma, f_1, p)\n", "names the part f_1, so it belongs in"),
            ("f/x/f_more.inc", "", "f_more.cu: "),
            ("f/kernels.inc", texts["f/kernels.inc"] + "TW_F(tma, f_less_0, r)\n", "there is no f_less.cu"),
            ("f/x/f.cu", "", "has the same name")):
        (kernels / name).write_text(text)
        try:
            units.parts(kernels, families=["f"])
        except SystemExit as said:
            assert word in str(said), said
        else:
            raise AssertionError(f"not refused: {name}: {text}")
        if name in texts:
            (kernels / name).write_text(texts[name])
        else:
            (kernels / name).unlink()


def planted(folder):
    kernels = folder / "kernels"
    texts = {"f/kernels.inc": "TW_F(tma, f_0, a)\nTW_F(wgmma, f_0, b)\nTW_F(tma, f_1, c)\nTW_F(tma, f_0, d)\n"
                              '#include "kernels/f/x/f_more.inc"\nTW_F(host, none, h)\n',
             "f/x/f_more.inc": "#define TW_BOTH(a, b) TW_F(tma, f_more_0, a) TW_F(tma, f_more_0, b)\nTW_BOTH(p, q)\n",
             "f/f.cu": "", "f/x/f_more.cu": "",
             "g/kernels.inc": "TW_G(gather4, g_0, four)\nTW_G(gather4, g_0, plain)\n", "g/g.cu": ""}
    for name, text in texts.items():
        (kernels / name).parent.mkdir(parents=True, exist_ok=True)
        (kernels / name).write_text(text)
    parts = {part.name: part for part in units.parts(kernels, families=["f", "g"])}
    assert list(parts) == ["f_0", "f_1", "f_more_0", "g_0"], parts
    assert wanted(parts["f_more_0"], {"tma"}) == ["p", "q"]
    planted_units(kernels, texts)
    (folder / "f_0.compute_90.bin").write_text(".visible .entry a(\n.visible .entry b(\n")
    archs = {"compute_90": {"tma"}, "sm_90a": {"tma", "wgmma"}}
    common.expect(contents(folder, parts, archs), "d has an entry", "b has no entry")
    common.expect(unbuilt(folder, parts), "f_1: has kernel entries", "f_more_0: has kernel entries", "g_0: has kernel entries")
    (folder / "w_0.compute_90.bin").write_text(
        ".visible .entry reads(\nld.global.nc.u32 %r1, [%rd1];\n.visible .entry waits(\ngriddepcontrol.wait;\n"
        "ld.global.u32 %r1, [%rd1];\n.visible .entry both(\ngriddepcontrol.wait;\nld.global.L1::no_allocate.nc.u8 %r, [%rd];\n")
    common.expect(waits_on_constants(folder), "both waits")
    (folder / "w_0.compute_90.bin").unlink()
    (folder / "chosen").mkdir()
    (folder / "chosen" / "names.txt").write_text("c\np\n")
    some = chosen_of(units.parts(kernels, families=["f", "g"]), folder)
    assert [(name, wanted(part, {"tma"})) for name, part in some.items()] == [("f_1", ["c"]), ("f_more_0", ["p"])]
    # A host object's symbol table has the format of a cubin's.
    (folder / "x.c").write_text("int c(void) { return 1; }\nstatic int s(void) { return 2; }\n"
                                "int (*use)(void) = s;\nint other(void);\n")
    subprocess.run(["cc", "-c", "x.c", "-o", "f_1.sm_90a.bin"], cwd=folder, check=True)
    assert functions(folder / "f_1.sm_90a.bin") == ["c"]
    # Two functions with one instruction each, in sections of their own; the second is an ordinary tile.
    words = {"four": "0x08040075b4, 0x37ee0008108000", "plain": "0x08080075b4, 0x37f40008008000"}
    (folder / "y.s").write_text("".join(
        f".section .text.{name}, \"ax\"\n.quad {code}\n" for name, code in words.items()))
    subprocess.run(["cc", "-c", "y.s", "-o", "y.o"], cwd=folder, check=True)
    faults = list(without_instructions(folder / "y.o", parts["g_0"]))
    assert len(faults) == 1 and "plain has no UTMALDG.2D.GATHER4" in faults[0], faults
    listed = "x.bin: #deps 5\n    ../src/kernels/f/f.cu\n    ../src/kernels/f/x/f_more.cuh\n" \
        "    src/kernels/chosen/kernels/f/x/f_more.inc\n    ../src/kernels/f/shared.cuh\n    ../src/kernels/g/kernels.inc\n"
    common.expect(foreign(folder / "x.bin", parts["f_0"], parts, kernels, listed), "not rebuilt when f/kernels.inc",
                  "when f/x/f_more.cuh, which", "when f/x/f_more.inc, which", "when g/kernels.inc, which")
    common.expect(foreign(folder / "x.bin", parts["f_more_0"], parts, kernels, listed), "not rebuilt when f/x/f_more.cu ",
                  "when f/f.cu, which", "when g/kernels.inc, which")
    (folder / "a.fatbin").write_bytes(b"new bytes")
    (folder / "a.S").write_text("sha256 " + hashlib.sha256(b"old bytes").hexdigest())
    (folder / "a.a").write_bytes(b"....old bytes....")
    common.expect(embedded([folder / "a.fatbin"], folder / "a.S", folder / "a.a"), "hash", "bytes")


if __name__ == "__main__":
    common.run(check, planted, "build")
