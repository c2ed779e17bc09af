#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Facts that must be written twice because one place cannot read the other: tilewright.h and meson_options.txt
against the tables of src/base and capi, and the minimum number of pipeline stages on the host against device
code."""
import re

import common


def enum_values(header):
    """NAME = value of every enumerator of the header."""
    text = re.sub(r"/\*.*?\*/", "", common.headers.text(header), flags=re.DOTALL)
    return {name: int(value) for name, value in re.findall(r"\b(TW_\w+)\s*=\s*(-?\d+)", text)}


def same(what, left, right):
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            yield f"{what}: {name} is {left.get(name)} in the header, {right.get(name)} in the table"


def enums(header, base, kernels):
    values = enum_values(header)
    status = {"TW_" + row[0]: int(row[1]) for row in common.rows(base / "status.inc", "TW_STATUS")}
    yield from same("status.inc", {n: v for n, v in values.items()
                                   if n == "TW_OK" or n.startswith("TW_ERROR_")}, status)
    dtypes = {"TW_DTYPE_" + row[0]: int(row[1]) for row in common.rows(base / "dtypes.inc",
                                                                       "TW_DTYPE")}
    yield from same("dtypes.inc", {n: v for n, v in values.items() if n.startswith("TW_DTYPE_")},
                    dtypes)
    features = {"TW_FEATURE_" + row[0].upper(): 1 << int(row[1])
                for row in common.rows(base / "features.inc", "TW_FEATURE")}
    yield from same("features.inc", {n: v for n, v in values.items()
                                     if n.startswith("TW_FEATURE_")}, features)
    families = {"TW_OP_" + row[0].upper(): int(row[1])
                for row in common.rows(kernels / "families.inc", "TW_FAMILY")}
    yield from same("families.inc", {n: v for n, v in values.items() if n.startswith("TW_OP_")},
                    families)


def archs(options, table):
    offered = re.search(r"option\('gpu_archs'.*?choices: \[(.*?)\]", options.read_text(), re.DOTALL)
    offered = set(re.findall(r"'(\w+)'", offered.group(1)))
    known = {row[0] for row in common.rows(table, "TW_ARCH") if row[1] == "elf"}
    for name in sorted(offered ^ known):
        yield f"archs: {name} is in one of {options.name} and {table.name}"


def structs(header, table):
    text = re.sub(r"/\*.*?\*/", "", common.headers.text(header), flags=re.DOTALL)
    sized = set(re.findall(r"typedef struct (tw_\w+) \{\s*uint32_t struct_size;\s*uint32_t struct_mark;", text))
    all_structs = set(re.findall(r"typedef struct (tw_\w+) \{", text))
    for name in sorted(all_structs - sized):
        yield f"structs: {name} does not begin with struct_size and struct_mark"
    for name in sorted(sized ^ {row[0] for row in common.rows(table, "TW_STRUCT")}):
        yield f"structs: {name} is in one of {header.name} and {table.name}"


def ring_stages(host, device):
    """Device code cannot include the host's header, and the host cannot include device code."""
    asked = re.search(r"\bkMinStages = (\d+);", host.read_text())
    pending = re.search(r"\bkPendingStores = (\d+);", device.read_text())
    more = re.search(r"\bkMinPipelineStages = kPendingStores \+ (\d+);", device.read_text())
    if not (asked and pending and more and int(asked[1]) == int(pending[1]) + int(more[1])):
        yield f"rings: kMinStages of {host.name} is not kMinPipelineStages of {device.name}"


def one_row_a_line(files):
    """The preprocessor and scripts read these tables, scripts line by line."""
    for file in files:
        depth = 0
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
            if line.startswith("TW_") and depth == 0 and code.count("(") != code.count(")"):
                yield f"{file.name}:{number}: the entry continues in the next line"
            depth += code.count("(") - code.count(")")


def check(_):
    src, capi = common.ROOT / "src", common.ROOT / "capi"
    yield from enums(common.HEADER, src / "base", src / "kernels")
    yield from archs(common.ROOT / "meson_options.txt", src / "base" / "archs.inc")
    yield from structs(common.HEADER, capi / "common" / "structs.inc")
    yield from ring_stages(src / "ops" / "common" / "rows_ring.cpp", src / "kernels" / "common" / "warp_ring.cuh")
    # Tables of sentences, such as the rules of tensor maps, are only read by the preprocessor.
    read = [*(src / "base").glob("*.inc"), *(src / "kernels").rglob("*.inc"), capi / "common" / "structs.inc"]
    yield from one_row_a_line(sorted(read))


def planted(folder):
    (folder / "h.h").write_text("""enum { TW_OK = 0, TW_ERROR_A = 2 /* TW_ERROR_C = 4 */ };
enum { TW_DTYPE_U8 = 1 }; enum { TW_FEATURE_TMA = 2 }; enum { TW_OP_COPY = 1 };
typedef struct tw_a { uint32_t struct_size; uint32_t struct_mark; } tw_a;
typedef struct tw_b { int x; } tw_b;
""")
    texts = {
        "status.inc": 'TW_STATUS(OK, 0, "x")\nTW_STATUS(ERROR_A, 1, "a, b")\n',
        "dtypes.inc": "TW_DTYPE(U8, 1, 8, 0)\nTW_DTYPE(I8, 2, 8, 0)\n",
        "features.inc": "TW_FEATURE(tma, 1)\n",
        "families.inc": "TW_FAMILY(copy, 1)\n",
        "archs.inc": "TW_ARCH(sm_90a, elf, 90a, tma)\nTW_ARCH(compute_90, ptx, 90, tma)\n",
        "options.txt": "option('gpu_archs', type: 'array', choices: ['sm_90a', 'sm_1'], value: [])\n",
        "structs.inc": "TW_STRUCT(tw_c, x)\n",
        "ring.cpp": "constexpr uint32_t kMinStages = 4;\n",
        "ring.cuh": "constexpr int kPendingStores = 2;\nconstexpr u32 kMinPipelineStages = kPendingStores + 2;\n",
        "other.cuh": "constexpr int kPendingStores = 3;\nconstexpr u32 kMinPipelineStages = kPendingStores + 2;\n",
        "split.inc": 'TW_X(a,\n  b)\nTW_X("(", c)\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    common.expect(enums(folder / "h.h", folder, folder), "TW_ERROR_A is 2", "TW_DTYPE_I8 is None")
    common.expect(archs(folder / "options.txt", folder / "archs.inc"), "sm_1")
    common.expect(structs(folder / "h.h", folder / "structs.inc"), "tw_b does not", "tw_a", "tw_c")
    common.expect(ring_stages(folder / "ring.cpp", folder / "ring.cuh"))
    common.expect(ring_stages(folder / "ring.cpp", folder / "other.cuh"), "kMinStages of ring.cpp")
    common.expect(one_row_a_line([folder / "split.inc"]), "split.inc:1")


if __name__ == "__main__":
    common.run(check, planted)
