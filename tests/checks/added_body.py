#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adding a kernel body must need only its header, its source and its table entries. A copy of the sources gets
a toy body of GEMM, is configured with -Dkernels for the toy kernels and one other, and builds their images.
Each toy kernel must then be in the image of its part and in the host's table. An edit of a body's header must
recompile that body's kernels and no others. Skipped without nvcc."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common
import kernels

LINE = "// SPDX-License-Identifier: Apache-2.0\n"
ADDED = {
    "gemm/mma/gemm_toy.cuh": LINE + """#pragma once
// D = alpha A B, a row a block and an element a thread.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/types.cuh"

namespace tw {

template <class In, class Out>
__device__ void gemm_toy(const GemmArgs& args) {
  const auto* a = reinterpret_cast<const typename In::Storage*>(args.a);
  const auto* b = reinterpret_cast<const typename In::Storage*>(args.b);
  const i64 row = blockIdx.x, column = threadIdx.x;
  float sum = 0.0f;
  for (i32 k = 0; k < args.k; ++k)
    sum += In::to_float(a[row * args.a_stride_m + k * args.a_stride_k]) *
           In::to_float(b[column * args.b_stride_n + k * args.b_stride_k]);
  reinterpret_cast<typename Out::Storage*>(args.d)[row * args.d_stride_m + column] = Out::from_float(args.alpha * sum);
}

}  // namespace tw
""",
    "gemm/mma/gemm_toy.cu": LINE + """#include "kernels/common/emit.cuh"
#include "kernels/gemm/mma/gemm_toy.cuh"

#define TW_GEMM_MMA(feature, part, symbol, in, out, tm, tn, tk, threads, variant)           \\
  TW_EMIT(feature, part,                                                                    \\
          extern "C" __global__ void __launch_bounds__(threads)                             \\
              symbol(const __grid_constant__ tw::GemmArgs args) { tw::gemm_toy<tw::in, tw::out>(args); })
#include "kernels/gemm/mma/gemm_toy.inc"
""",
    "gemm/mma/gemm_toy.inc": LINE + """TW_GEMM_MMA(mma, gemm_toy_0, gemm_bf16_bf16_toy_1x96x1, BF16, BF16, 1, 96, 1, 96, kGemmNoMaps)
TW_GEMM_MMA(mma, gemm_toy_1, gemm_f16_f32_toy_1x96x1, F16, F32, 1, 96, 1, 96, kGemmNoMaps)
""",
}
INCLUDE = '#include "kernels/gemm/mma/gemm_toy.inc"\n'
# Kernels, and the parts that compile them.
TOYS = {"gemm_bf16_bf16_toy_1x96x1": "gemm_toy_0", "gemm_f16_f32_toy_1x96x1": "gemm_toy_1"}
OTHER = {"gemm_realign": "gemm_realign_0"}
# Prints for each entry of the host's table, which also lists kernels that were not compiled, the kernel, its
# image and the image's size in bytes.
PROGRAM = """#include "kernels/gemm/gemm_entries.cpp"
#include <cstdio>
#include "kernels/image/kernel_images.hpp"
int main() {
  for (const tw::KernelEntry& entry : tw::gemm_entries())
    if (entry.image)
      std::printf("%s %s %d %zu\\n", entry.symbol, entry.image, entry.threads, tw::kernel_image(entry.image).size);
}
"""


def copied(folder):
    for path in common.tracked():
        to = folder / path.relative_to(common.ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    return folder


def add_body(tree, added):
    for name, text in added.items():
        (tree / "src" / "kernels" / name).write_text(text)
    table = tree / "src" / "kernels" / "gemm" / "kernels.inc"
    table.write_text(table.read_text() + INCLUDE)


def said(*command, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    return done.returncode, done.stdout + done.stderr


def in_images(folder, wanted):
    """Kernels that the images lack, or have in addition."""
    for kernel, part in wanted.items():
        for arch in ("sm_90a", "compute_90"):
            image = folder / f"{part}.{arch}.bin"
            has = kernels.functions(image) if image.exists() else []
            if has != [kernel]:
                yield f"{image.name} has {has} and not {kernel} alone"


def in_table(told, wanted):
    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines()}
    for kernel, part in wanted.items():
        image, _, size = rows.get(kernel, ["", "", "0"])
        if image != part:
            yield f'{kernel}: the host\'s table has the image "{image}" and not {part}'
        elif size == "0":
            yield f"{kernel}: no image {part} is embedded"


def compiled_again(ninja, build, header):
    """The parts that ninja would recompile after an edit of a header."""
    seen = header.stat()
    header.touch()
    told = common.output(ninja, "-C", build, "-n", "src/kernels/kernel_images.S")
    os.utime(header, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return sorted(set(re.findall(r"Generating src/kernels/(\w+)\.(?:sm_90a|compute_90) ", told)))


def check(options):
    if not shutil.which("nvcc") and not pathlib.Path("/usr/local/cuda/bin/nvcc").exists():
        common.skip("there is no nvcc")
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        tree, build = copied(folder / "tree"), folder / "build"
        add_body(tree, ADDED)
        status, told = said(*options.meson.split("\n"), "setup", build, tree, "-Dtests=disabled", "-Dexamples=disabled",
                            "-Dcuda=enabled", "-Dgpu_archs=sm_90a", f"-Dkernels={','.join([*TOYS, *OTHER])}",
                            stdin=subprocess.DEVNULL)
        if status and "is too old for" in told:
            common.skip(told[told.rfind("nvcc "):].strip())
        if status:
            yield told
            return
        common.output(ninja, "-C", build, "src/kernels/kernel_images.S")
        made = build / "src" / "kernels"
        yield from in_images(made, TOYS | OTHER)
        (folder / "table.cpp").write_text(PROGRAM)
        # The host bodies in the table are not linked: their addresses are not used.
        common.output(options.compiler, "-std=c++20", "-no-pie", "-I", tree / "src", "-I", tree / "include", folder / "table.cpp",
                      tree / "src" / "kernels" / "image" / "kernel_images.cpp", made / "kernel_images.S",
                      "-Wl,--unresolved-symbols=ignore-all", "-o", folder / "table")
        yield from in_table(common.output(folder / "table"), TOYS | OTHER)
        for header, parts in (("gemm/mma/gemm_toy.cuh", TOYS), ("gemm/gemm_realign.cuh", OTHER)):
            again = compiled_again(ninja, build, tree / "src" / "kernels" / header)
            if again != sorted(parts.values()):
                yield f"an edit of {header} compiles {' '.join(again)} again"


def planted(folder):
    kernels_of = folder / "src" / "kernels"
    shutil.copytree(common.ROOT / "src" / "kernels", kernels_of)
    shutil.copytree(common.ROOT / "src" / "base", folder / "src" / "base")
    for name, text in ADDED.items():
        (kernels_of / name).write_text(text)
    listed = [sys.executable, "-B", kernels_of / "units.py"]
    assert "gemm_toy.cu: " in said(*listed)[1], "a body without entries in the family's table is not refused"
    add_body(folder, ADDED)
    assert "\ngemm_toy_1 gemm/mma/gemm_toy.cu\n" in said(*listed)[1], "the entries of a body are not found"
    (folder / "gemm_toy_0.sm_90a.bin").write_text(".visible .entry gemm_bf16_bf16_toy_1x96x1(\n")
    (folder / "gemm_toy_0.compute_90.bin").write_text(".visible .entry a(\n.visible .entry b(\n")
    common.expect(in_images(folder, {"gemm_bf16_bf16_toy_1x96x1": "gemm_toy_0"}), "gemm_toy_0.compute_90.bin has ['a', 'b']")
    common.expect(in_table("a x_0 32 9\nb x_0 32 0\nc x_1 32 9\n", {"a": "x_0", "b": "x_0", "c": "x_0", "d": "x_0"}),
                  "b: no image x_0", 'c: the host\'s table has the image "x_1"', 'd: the host\'s table has the image ""')


if __name__ == "__main__":
    common.run(check, planted, "meson", "compiler")
