#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folders may include which: no includes of upper layers, device code includes only device code, and the
only public header that the library includes is the one for kernel authors. Also, each source must implement and
first include the header of its name."""
import re

import common

# The longest matching prefix determines the layer of a file.
LAYERS = {
    "src/base": {"src/base"},
    "src/layout": {"src/layout", "src/base"},
    "src/tensor_map": {"src/tensor_map", "src/layout", "src/base"},
    "src/kernels": {"src/kernels", "src/tensor_map", "src/base"},
    "src/driver": {"src/driver", "src/base"},
    "src/runtime/host": {"src/runtime/host", "src/runtime", "src/kernels", "src/tensor_map",
                         "src/base"},
    "src/runtime/cuda": {"src/runtime/cuda", "src/runtime", "src/driver", "src/kernels",
                         "src/tensor_map", "src/base"},
    "src/runtime/open": {"src/runtime/open", "src/runtime/host", "src/runtime/cuda", "src/runtime"},
    "src/runtime": {"src/runtime", "src/kernels", "src/tensor_map", "src/base"},
    "src/ops": {"src/ops", "src/runtime", "src/kernels", "src/tensor_map", "src/layout",
                "src/base"},
    "capi": {"capi", "src/ops", "src/runtime/open", "src/runtime", "src/kernels", "src/tensor_map",
             "src/layout", "src/base"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
DEVICE = {".cu", ".cuh"}
# The public header for kernel authors, and the layers that may include it.
KERNEL_HEADER = re.compile(r"tilewright/device(\.cuh$|/\w+\.cuh$)")
KERNEL_LAYERS = {"src/kernels", "src/ops"}
# Sources without a header of their own name.
WITHOUT_HEADER = re.compile("|".join([
    # Several sources implement the headers of matrix products.
    r"^src/(ops|kernels)/gemm/",
    # The build uses these in place of the source whose header they implement.
    r"^src/runtime/cuda/no_cuda\.cpp$",
    r"^src/kernels/image/no_kernel_images\.cpp$",
    # Each defines one function, which kernel_table.hpp declares for all families by one list. Only the family's
    # table names the host bodies next to it.
    r"^src/kernels/(\w+)/\2_host\.cpp$",
]))
SOURCES = DEVICE | {".c", ".h", ".cpp", ".hpp", ".inc"}


def layer(path):
    names = [name for name in LAYERS if path.startswith(name + "/")]
    return max(names, key=len, default=None)


def resolve(root, source, name):
    """An include in quotes is relative to the file itself, to src/, to capi/ or to the top."""
    for base in (source.parent, root / "src", root / "capi", root):
        if (base / name).is_file():
            return (base / name).resolve().relative_to(root.resolve()).as_posix()
    return None


def faults_of(root, files):
    for source in files:
        path = source.relative_to(root).as_posix()
        own_layer = layer(path)
        if source.suffix not in SOURCES or not (own_layer or path.startswith("include/")):
            continue
        for kind, name in INCLUDE.findall(source.read_text()):
            where = f"{path}: includes {kind}{name}"
            if kind == "<":
                if name in ("cuda.h", "cudaTypedefs.h"):
                    yield f"{where}: the library is built without cuda.h: see src/driver/cuda_types.inc"
                elif re.match(r"cuda|cublas|nv", name) and own_layer is None:
                    yield f"{where}: no CUDA header may be reachable from a public header"
                elif name in ("cuda_runtime.h", "cuda_runtime_api.h"):
                    yield f"{where}: the CUDA runtime is no dependency"
                elif source.suffix in DEVICE and "." not in name:
                    yield f"{where}: device code does not use the standard library"
                elif path.startswith("src/") and name.startswith("tilewright/") and not (
                        own_layer in KERNEL_LAYERS and KERNEL_HEADER.match(name)):
                    yield f"{where}: {own_layer} may not see this public header"
                elif KERNEL_HEADER.match(path.removeprefix("include/")) and not KERNEL_HEADER.match(name):
                    yield f"{where}: the header for kernel authors must not include other project headers"
                continue
            if own_layer is None:
                # When installed, it lies next to the C header.
                if name != "tilewright.h":
                    yield f"{where}: a public header sees tilewright.h alone"
                continue
            target = resolve(root, source, name)
            if target is None:
                yield f"{where}: there is no such file"
            elif layer(target) not in LAYERS[own_layer]:
                yield f"{where}: {own_layer} may not see {layer(target)}"
            elif source.suffix in DEVICE and layer(target) == "src/base" and name.endswith(".hpp"):
                yield f"{where}: device code does not see src/base"
            elif target.endswith("capi/tilewright.h") and own_layer != "capi":
                yield f"{where}: nothing below capi/ knows the C API"


def header_faults(root, files):
    """Sources that do not implement the header of their name, or do not include it first; including it first
    verifies that the header is self-contained."""
    for source in files:
        path = source.relative_to(root).as_posix()
        if not path.startswith("src/") or source.suffix != ".cpp" or WITHOUT_HEADER.search(path):
            continue
        own = path.removeprefix("src/").removesuffix(".cpp") + ".hpp"
        first = next((name for kind, name in INCLUDE.findall(source.read_text()) if kind == '"'), None)
        if not (root / "src" / own).is_file():
            yield f"{path}: no header {own} next to it (see WITHOUT_HEADER)"
        elif first != own:
            yield f"{path}: includes {first} before {own}, the header that it implements"


def check(_):
    files = common.tracked()
    yield from faults_of(common.ROOT, files)
    yield from header_faults(common.ROOT, files)


def planted(folder):
    planted_layers(folder / "layers")
    planted_names(folder / "names")


def planted_names(folder):
    source = '#include <vector>\n#include "ops/a/{}.hpp"\n#include "base/z.hpp"\n'
    texts = {
        "src/ops/a/good.hpp": "",
        "src/ops/a/good.cpp": source.format("good"),
        "src/ops/a/late.hpp": "",
        "src/ops/a/late.cpp": '#include "base/z.hpp"\n#include "ops/a/late.hpp"\n',
        "src/ops/a/more.cpp": source.format("good"),
        "src/base/z.hpp": "",
        "src/base/none.hpp": "",
        "src/base/none.cpp": "int z;\n",
        "src/ops/gemm/more.cpp": source.format("good"),
        "src/runtime/cuda/no_cuda.cpp": source.format("good"),
        "src/kernels/a/a_host.cpp": source.format("good"),
        "src/kernels/a/b_host.cpp": source.format("good"),
        "capi/c.cpp": "",
    }
    written(folder, texts)
    common.expect(header_faults(folder, [folder / name for name in texts]), "src/ops/a/late.cpp: includes base/z.hpp",
                  "src/ops/a/more.cpp: no header ops/a/more.hpp", "src/base/none.cpp: includes None",
                  "src/kernels/a/b_host.cpp: no header")


def written(folder, texts):
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def planted_layers(folder):
    texts = {
        "src/base/a.hpp": "",
        "src/base/t.inc": "",
        "src/base/up.cpp": '#include "base/a.hpp"\n#include "layout/b.hpp"\n',
        "src/layout/b.hpp": '#include "base/a.hpp"\n#include <vector>\n',
        "src/driver/d.hpp": "#include <cuda.h>\n",
        "src/kernels/k.cuh": '#include "base/a.hpp"\n#include "base/t.inc"\n',
        "src/kernels/stl.cu": "#include <cuda_bf16.h>\n#include <cstdint>\n",
        "src/ops/o.cpp": '#include "driver/d.hpp"\n',
        "src/runtime/cuda/r.cpp": '#include "driver/d.hpp"\n',
        "src/runtime/r.cpp": "#include <cuda.h>\n",
        "capi/c.cpp": '#include "ops/missing.hpp"\n',
        "include/tilewright/x.hpp": '#include <cuda_fp16.h>\n#include <memory>\n#include "tilewright.h"\n',
        "include/tilewright/y.hpp": '#include "base/a.hpp"\n',
        "src/kernels/p.cuh": "#include <tilewright/device.cuh>\n",
        "src/kernels/q.cuh": "#include <tilewright/tilewright.h>\n",
        "src/layout/r.cpp": "#include <tilewright/device/cache.cuh>\n",
        "include/tilewright/device.cuh": "#include <tilewright/device/a.cuh>\n",
        "include/tilewright/device/a.cuh": "#include <tilewright/tilewright.hpp>\n",
        "include/tilewright/device/b.cuh": "#include <cuda_fp16.h>\n",
    }
    written(folder, texts)
    common.expect(faults_of(folder, [folder / name for name in texts]),
                  "src/base/up.cpp", "src/driver/d.hpp", "src/kernels/k.cuh", "src/kernels/stl.cu", "src/ops/o.cpp",
                  "src/runtime/r.cpp", "capi/c.cpp", "include/tilewright/x.hpp",
                  "include/tilewright/y.hpp", "src/kernels/q.cuh", "src/layout/r.cpp",
                  "include/tilewright/device/a.cuh", "include/tilewright/device/b.cuh")


if __name__ == "__main__":
    common.run(check, planted)
