#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's own declarations of the CUDA driver must match the real cuda.h: every prototype of
src/driver/symbols.inc, every type and constant, and the offset of each struct field."""
import pathlib
import re
import shutil
import subprocess

import common

DRIVER = common.ROOT / "src" / "driver"
ROOTS = ("/usr/local/cuda/include", "/usr/include")

# The library's declarations come first, because some names are macros in cuda.h.
PROGRAM = """
#include <cstddef>
#include <cstdint>
#include <type_traits>
namespace own {
#include "driver/cuda_types.inc"
}
#include <cuda.h>
#include <cudaTypedefs.h>
#define TW_DRIVER_SYMBOL(name, version, need, ...) \\
  static_assert(std::is_same_v<CUresult (*)(__VA_ARGS__), PFN_cu##name##_v##version>, "prototype of " #name);
#include "driver/symbols.inc"
#define TW_CUDA_ENUM(type, tag) \\
  static_assert(sizeof(own::type) == sizeof(::type) && \\
                std::is_same_v<std::underlying_type_t<own::type>, std::underlying_type_t<::type>>, "size of " #type);
#define TW_CUDA_CONSTANT(type, name, value) \\
  static_assert(static_cast<long long>(name) == (value), "value of " #name);
#include "driver/cuda_constants.inc"
#define FIELD(type, name) \\
  static_assert(offsetof(own::type, name) == offsetof(::type, name) && \\
                sizeof(own::type::name) == sizeof(::type::name), "place of " #type "::" #name);
#define SIZE(type) static_assert(sizeof(own::type) == sizeof(::type), "size of " #type);
SIZE(CUdevice) SIZE(CUdeviceptr) SIZE(CUcontext) SIZE(cuuint32_t) SIZE(cuuint64_t)
SIZE(CUtensorMap) SIZE(CUlaunchAttributeValue) SIZE(CUlaunchAttribute) SIZE(CUlaunchConfig)
static_assert(alignof(own::CUtensorMap) >= 64 && alignof(own::CUlaunchAttribute) == alignof(::CUlaunchAttribute));
FIELD(CUlaunchAttribute, id) FIELD(CUlaunchAttribute, value)
FIELD(CUlaunchAttributeValue, clusterDim) FIELD(CUlaunchAttributeValue, programmaticStreamSerializationAllowed)
FIELD(CUlaunchConfig, gridDimX) FIELD(CUlaunchConfig, gridDimY) FIELD(CUlaunchConfig, gridDimZ)
FIELD(CUlaunchConfig, blockDimX) FIELD(CUlaunchConfig, blockDimY) FIELD(CUlaunchConfig, blockDimZ)
FIELD(CUlaunchConfig, sharedMemBytes) FIELD(CUlaunchConfig, hStream) FIELD(CUlaunchConfig, attrs)
FIELD(CUlaunchConfig, numAttrs)
SIZE(CUgraph) SIZE(CUgraphExec) SIZE(CUgraphExecUpdateResultInfo)
FIELD(CUgraphExecUpdateResultInfo, result) FIELD(CUgraphExecUpdateResultInfo, errorNode)
FIELD(CUgraphExecUpdateResultInfo, errorFromNode)
FIELD(CUdevResource, type) FIELD(CUdevResource, sm)
FIELD(CUdevSmResource, smCount) FIELD(CUdevSmResource, minSmPartitionSize)
SIZE(CUgraphExecUpdateResultInfo) FIELD(CUgraphExecUpdateResultInfo, result)
FIELD(CUgraphExecUpdateResultInfo, errorNode) FIELD(CUgraphExecUpdateResultInfo, errorFromNode)
"""


def headers():
    found = shutil.which("nvcc")
    roots = ([str(pathlib.Path(found).resolve().parent.parent / "include")] if found else []) + [*ROOTS]
    return next((root for root in roots if (pathlib.Path(root) / "cudaTypedefs.h").exists()), None)


def differences(root, include):
    """Yields a line for each assertion that fails; `root` contains the folder driver."""
    done = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-I", str(root), "-isystem", include, "-x", "c++", "-"],
                          input=PROGRAM, capture_output=True, text=True)
    found = [line.split("error: ")[1] for line in done.stderr.splitlines() if "error: " in line]
    yield from (f"the declarations in src/driver are not those of {include}/cuda.h: {line}" for line in found)
    if done.returncode and not found:
        yield done.stderr


def unchecked(types):
    """Structs whose fields are not compared above."""
    for name in re.findall(r"^} (\w+);", types, re.MULTILINE):
        if f"FIELD({name}," not in PROGRAM and f"SIZE({name})" not in PROGRAM:
            yield f"cuda_types.inc: {name} is not compared with cuda.h here"


def check(_):
    yield from unchecked((DRIVER / "cuda_types.inc").read_text())
    include = headers()
    if not include:
        common.skip("there is no cuda.h")
    yield from differences(DRIVER.parent, include)


def planted(folder):
    common.expect(unchecked("typedef struct CUnew_st {\n  int a;\n} CUnew;\n"), "CUnew is not compared")
    include = headers()
    if not include:
        return
    for name, before, after, words in (
            ("symbols.inc", "(MemAlloc, 3020, required, CUdeviceptr*, size_t)",
             "(MemAlloc, 3020, required, CUdeviceptr*, unsigned int)", "prototype of MemAlloc"),
            ("cuda_constants.inc", "CUDA_ERROR_NOT_READY, 600", "CUDA_ERROR_NOT_READY, 601",
             "value of CUDA_ERROR_NOT_READY"),
            ("cuda_types.inc", "  unsigned int sharedMemBytes;\n  CUstream hStream;",
             "  CUstream hStream;\n  unsigned int sharedMemBytes;", "place of CUlaunchConfig::sharedMemBytes"),
            ("cuda_types.inc", "opaque[16]", "opaque[8]", "size of CUtensorMap")):
        copy = folder / f"of {words}"
        shutil.copytree(DRIVER, copy / "driver")
        text = (copy / "driver" / name).read_text()
        assert before in text, f"{name} has no {before}"
        (copy / "driver" / name).write_text(text.replace(before, after))
        found = [*differences(copy, include)]
        assert any(words in fault for fault in found), f'"{words}" is not in {found}'


if __name__ == "__main__":
    common.run(check, planted)
