#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the library must fail if the library is wrong: mutants.py BUILD SANITIZERS [WORDS].

Each mutant is a source with one fault. It is compiled as in the build, linked in front of the libraries into
a copy of a test program, and that test must then fail. Faults that only a sanitizer finds are planted if the
build has it. The unchanged programs pass in the same suite. WORDS selects mutants by their description.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import common

ROOT = common.ROOT
BOUNDARY, HEADER = "capi/common/boundary.cpp", "capi/common/boundary.hpp"
CUDA, DEVICE = "src/runtime/cuda/cuda_device.cpp", "src/runtime/device.cpp"
SCOPE, STATUS, LOG = "src/runtime/cuda/scope.cpp", "src/base/status.cpp", "src/base/log.cpp"
THREADED = "capi/capi_threads_test"
ALLOCATES = ("static void* volatile kept; kept = ::operator new(1); ::operator delete(kept); "
             "TW_TRY(check_run_handles(plan, stream, Op::copy));")

# Faults with which the test never ends.
HANGS = {"a row of scales is packed for the run and not for the plan"}

# The fault; the file, a text in it and its replacement; the test program and its arguments; the source to
# compile if the file is a header.
PLAIN = [
    ("a longer struct's unknown tail is not looked at", BOUNDARY, "if (bytes[i] != 0)",
     "if (bytes[i] != 0 && head.struct_size == 0)", "runtime/boundary_test"),
    ("of a shorter struct more is read than it has", BOUNDARY,
     "std::memcpy(out, in, std::min<size_t>(head.struct_size, type.ours));", "std::memcpy(out, in, type.ours);",
     "runtime/boundary_test"),
    ("to a shorter struct more is written than it has", BOUNDARY,
     "std::min<size_t>(head.struct_size, type.ours) - sizeof head);", "type.ours - sizeof head);",
     "runtime/boundary_test"),
    ("a struct_size of 4 GB is believed", BOUNDARY, " && size <= kMaxStructSize", "",
     "capi/capi_contract_test host"),
    ("a failure leaves its output as it was", HEADER, "*pointer = T{};", "",
     "capi/capi_contract_test host", "capi/device/device.cpp"),
    ("exhausted memory is called an unexpected exception", HEADER, "catch (const std::bad_alloc&)",
     "catch (const std::bad_exception&)", "capi/capi_allocation_contract_test host",
     "capi/device/memory.cpp"),
    ("a function answers what its comment does not list", "src/layout/swizzle.cpp",
     "Code::ERROR_INVALID_ARGUMENT", "Code::ERROR_PARSE", "capi/capi_contract_test host"),
    ("a text's length cannot be asked for alone", BOUNDARY, "if (!buffer && length)", "if (false)",
     "capi/capi_contract_test host"),
    ("a failure has no message", STATUS, "std::vsnprintf(info.message, sizeof info.message, format, args);",
     "", "capi/capi_contract_test host"),
    ("threads share the last error", STATUS, "constinit thread_local ErrorInfo", "constinit ErrorInfo",
     "capi/capi_threads_test host"),
    ("a run allocates", "capi/plan/plan_copy.cpp", "TW_TRY(check_run_handles(plan, stream, Op::copy));",
     ALLOCATES, "capi/capi_allocation_test host"),
    ("a driver call's failure is ignored", CUDA, "TW_TRY(check(cu_.StreamCreate(",
     "(void)(check(cu_.StreamCreate(", "capi/capi_driver_fault_test"),
    ("what was made is not given back where a list cannot grow", CUDA, "    undo();\n", "",
     "capi/capi_driver_fault_test"),
    ("a call leaves its context current", SCOPE, "cu.CtxPopCurrent(&popped);", "",
     "capi/capi_driver_fault_test"),
    ("a call allocates in the caller's capture mode", SCOPE, "if (mode == relaxed) exchanged_",
     "if (mode != relaxed) exchanged_", "capi/capi_driver_fault_test"),
    ("a lost device is asked again", DEVICE, "acquire); result != 0)", "acquire); result == -1)",
     "capi/capi_driver_fault_test"),
    ("a closed device is asked again", DEVICE, "if (closed_.load(std::memory_order_acquire))",
     "if (false)", "capi/capi_driver_fault_test"),
    ("vectors are taken where a source lies otherwise", "src/ops/elementwise/elementwise.cpp",
     "% vector_ == misalignment(at);", "% vector_ != vector_;", "ops/ops_test -tc=elementwise_plan:*"),
    ("a destination may share some of a source", "src/ops/elementwise/elementwise_shape.cpp",
     "if (meets == Intersection::no) return {};", "return {};", "ops/ops_test -tc=elementwise_plan:*"),
    ("a source that is the destination is refused", "src/ops/elementwise/elementwise_shape.cpp",
     "same_layout(shape, o)) continue;", "same_layout(shape, o) && o > 1) continue;", "ops/ops_test -tc=elementwise_plan:*"),
    ("vectors at the end of a row are one too few", "src/ops/elementwise/elementwise.cpp",
     "ceil_div(misalignment(at) + shape_.row_elements, vector_);",
     "ceil_div(shape_.row_elements, vector_);", "device/elementwise_device_test"),
    ("a window beside the packed rows is taken", "src/ops/ragged/ragged.cpp",
     "if (run.column < 0 || run.column > last_start)", "if (run.column < 0)", "device/ragged_device_test"),
    ("offsets that cannot be are not refused", "src/ops/ragged/ragged.cpp", "TW_TRY(check_offsets(stream, args));",
     "", "device/ragged_device_test"),
    ("a routing without a map takes fewer experts than there are", "src/ops/route/route.cpp",
     "if (p.desc.local_experts == p.desc.experts) return {};", "return {};", "ops/ops_test -tc=route:*"),
    ("chunks of a routing are one too few", "src/ops/route/route.cpp",
     "(args.tokens + workspace.chunk_tokens - 1) / workspace.chunk_tokens",
     "args.tokens / workspace.chunk_tokens",
     "device/route_device_test"),
    ("rows with room between them are quantised as one", "src/ops/quantize/quantize.cpp",
     "d.src_pitch != d.columns || d.dst_pitch != d.columns ||", "", "ops/ops_test -tc=quantize:*"),
    ("a row of scales is packed for the run and not for the plan", "src/ops/quantize/quantize_problem.cpp",
     "return desc.scale_order == ScaleOrder::row ? 4 : desc.scale_ld * 4;",
     "return desc.scale_order == ScaleOrder::row ? 4 : desc.rows * 4;", "device/quantize_device_test -tc=*thousand*"),
    ("infinities count in the scale", "src/kernels/quantize/quantize.h",
     "return magnitude < quantize_infinity(format) ? magnitude : 0;", "return magnitude;",
     "device/quantize_device_test", "src/kernels/quantize/quantize_host.cpp"),
    ("fewer weight matrices than groups need no map", "src/ops/grouped/grouped_run.cpp",
     "if (run.group_map != 0 || d.weight_count >= d.groups) return {};", "return {};", "ops/ops_test -tc=grouped:*"),
    ("rows of D that are added in order are cleared too late", "src/ops/grouped/grouped_run.cpp",
     "p.sums() ? !sizes->multiplies : p.zeroes_other_rows()", "p.zeroes_other_rows()", "ops/ops_test -tc=grouped:*"),
    ("rows of D to which no row is added are written", "src/kernels/grouped/grouped_host.cpp",
     "bool any = !adds_to_d;", "bool any = true;", "device/grouped_device_test -tc=*fixed*order*"),
    ("what D holds does not come first", "src/ops/grouped/grouped_run.cpp",
     "d.combine == Combine::add ? kGroupedAddsToD : 0u", "0u", "device/grouped_device_test -tc=*comes*first*"),
    ("a grouped plan ignores expected_rows", "src/ops/grouped/grouped_wgmma.cpp",
     "d.expected_rows != 0 ? d.expected_rows : d.m", "d.m", "ops/ops_test -tc=grouped*choice*"),
    ("the copy of gathered rows takes no time", "src/ops/grouped/grouped_cost.cpp",
     "if (copies_rows) {", "if (false) {", "ops/ops_test -tc=grouped*choice*"),
    ("the rows of a grouped sum lie too close together", "src/ops/grouped/grouped_run.cpp",
     "workspace->row_pitch = row_bytes / problem.out_bytes;",
     "workspace->row_pitch = problem.d_columns - 1;",
     "device/grouped_device_test"),
    ("a null address of a list is not refused", "src/ops/copies/copies.cpp",
     "if (src == 0 || (src & args.src_mask) != 0)", "if ((src & args.src_mask) != 0)",
     "device/copies_device_test"),
    ("a copy that runs backwards begins at its beginning", "src/ops/copies/copies.cpp",
     "args.dst_offset = shape_.dst_offset;", "args.dst_offset = 0;", "device/copies_device_test"),
    ("a support query passes over the room for tiles", "src/ops/gemm/gemm.cpp",
     "if (gemm_surely_fits_launch(device, staged)) return {};", "return {};", "capi/capi_supported_test"),
    ("a support query passes over what staging copies cannot do", "src/ops/gemm/gemm.cpp",
     "if (desc.staging_copy) TW_TRY(GemmStagingCopies::check(device, problem));", "", "capi/capi_supported_test"),
    ("a support query passes over the number of tiles", "src/ops/copies/copies.cpp",
     "return CopiesPlan(nullptr, desc, shape).arrange(device);", "return {};", "capi/capi_supported_test"),
    ("a device that lacks kernels is taken for one that has all", "src/runtime/rehearsal.cpp",
     "&& !device.find_kernel(entry).ok()) return false;", "&& !device.find_kernel(entry).ok()) break;",
     "runtime/embedded_test"),
    ("a prefetch's budget is not looked at", "src/ops/prefetch/prefetch.cpp", "TW_TRY(read_dims());\n  return apply_budget();",
     "return read_dims();", "device/prefetch_device_test"),
    ("an activation is applied to the product", "src/kernels/elementwise/element.h",
     "  value = activate(args.activation, value);\n  if (multiplies) value = product(value, y);",
     "  if (multiplies) value = product(value, y);\n  value = activate(args.activation, value);",
     "device/elementwise_activations_device_test", "src/kernels/elementwise/elementwise_host.cpp"),
    ("a factor is the arguments', whatever the device has", "src/kernels/elementwise/element.h",
     "return address == 0 ? own :", "return true ? own :", "device/elementwise_activations_device_test -tc=*factor?in?device?memory*",
     "src/kernels/elementwise/elementwise_host.cpp"),
    ("a scalar may be the destination's", "src/ops/elementwise/elementwise.cpp",
     "if (run.device_beta != 0)\n    TW_TRY", "if (false)\n    TW_TRY", "capi/capi_plan_elementwise_test"),
    ("a reduction does not read what is there", "src/kernels/elementwise/elementwise_host.cpp",
     "args.reduction != kReduceNone ? load(dst, bytes) : 0", "0", "device/elementwise_device_test"),
    ("what follows a row inside a window is its padding", "src/ops/copy/copy_window.cpp",
     "piece.padding_writable = false;", ";", "device/copy_window_device_test"),
    ("a window's fill may overwrite what is read", "src/ops/copy/copy_window.cpp",
     "if (meets == Intersection::no) return {};", "return {};", "device/copy_window_device_test"),
    ("max_sms is a number of SMs with eight blocks each", "src/ops/plan/plan.cpp",
     "if (max_sms != 0) return usable_sms(device, max_sms);",
     "if (max_sms != 0) return uint64_t{usable_sms(device, max_sms)} * 8;", "ops/ops_test -tc=max_sms*"),
    ("a workspace may be what a run reads", "src/ops/plan/plan.cpp", "if (one->written || other->written)",
     "if (one->written && other->written)", "ops/ops_test -tc=plan:*"),
    ("a group's pieces are counted as if they had 512 bytes", "src/ops/rows/rows_methods.cpp",
     "std::min(kMinPart, setup.pipeline.stage_bytes / d.group / 16 * 16)", "kMinPart", "ops/ops_test -tc=rows:*"),
    ("a permutation reads past its runs", "src/ops/copy/copy_permute.cpp",
     "if (load < 4) load = args->unit_bytes;", "", "ops/ops_test -tc=copy_permute:*"),
    ("a NaN's payload goes through a minimum", "src/kernels/scatter/scatter_host.cpp",
     "element == kElementF32 && std::isnan(chosen)", "false", "device/rows_values_device_test"),
    ("an update changes nothing", "src/runtime/host/host_graph.cpp", "recording_ = from.recording_;", "",
     "device/graph_device_test"),
    ("a capture forgets a stream that was not joined", "src/runtime/host/host_stream.cpp",
     "if (!reached[i]) return false;", "", "capi/capi_graph_test host"),
    ("a refused update is not undone", "src/runtime/cuda/cuda_graph.cpp", "if (!is_sticky(result))",
     "if (false)", "runtime/cuda_device_test"),
    ("a destroyed handle is used", HEADER, "handle->value ? Status() : destroyed(argument, T::kKind)",
     "Status()", "capi/capi_contract_test host", "capi/device/memory.cpp"),
    ("an operand may end a byte behind its block", "src/runtime/host/known_memory.cpp",
     "if (bytes <= piece.end - address)", "if (bytes <= piece.end - address + 1)",
     "capi/capi_known_memory_test host"),
    ("a matrix of an array may lie anywhere", "src/ops/gemm/gemm_run.cpp", "if (!good || o.array == 0) continue;",
     "continue;", "capi/capi_known_memory_test host"),
    ("scales lie by rows whatever their order is", "src/ops/gemm/gemm_scales.cpp",
     "(scaling.order == Order::row) == lines_are_rows", "lines_are_rows", "ops/ops_test -tc=gemm?scaled*"),
    ("a swapped product keeps each operand's scales", "src/ops/gemm/problem/gemm_problem.cpp",
     "std::swap(d.a_scaling, d.b_scaling);", "", "ops/ops_test -tc=gemm?scaled*"),
    ("a forked child goes on", DEVICE, "if (forked())", "if (false)", "capi/capi_memory_test host"),
]
ON_A_GPU = [
    ("a call of another thread breaks a capture in global mode", SCOPE, "if (mode == relaxed) exchanged_",
     "if (mode != relaxed) exchanged_", "device/embedding_device_test"),
    ("a call leaves its context current on a GPU", SCOPE, "cu.CtxPopCurrent(&popped);", "",
     "device/embedding_device_test"),
    ("an operand is loaded before its copy is made", "src/ops/gemm/gemm_staging.cpp",
     ": i == 0   ? u32{kGemmOperandA}", ": i == 1   ? u32{kGemmOperandA}",
     "device/gemm_realign_device_test"),
]
ADDRESS = [
    ("a plan is not freed", "capi/plan/plan.cpp", "g_destroyed_plans.destroy(plan);", "(void)plan;", "capi/capi_plan_copy_test host"),
    ("an image is read past its end", "src/runtime/cuda/image.cpp",
     "return offset <= size_ && length <= size_ - offset;", "return offset <= size_;",
     "fuzz/replay_image {corpus}/image_corpus --random 20000"),
    ("a tile's bytes overflow", "src/tensor_map/tile/tile_map.cpp", "|| tile_bytes > kMaxTileBytes)",
     "&& tile_bytes > kMaxTileBytes)", "tensor_map/tensor_map_test -tc=requests*"),
    ("a plan of no columns divides by zero", "src/ops/gemm/gemm_kernel.cpp", "std::max(args->units_n, 1)",
     "args->units_n", "fuzz/replay_plan {corpus}/plan_corpus --random 2000"),
    ("a basis element of a text may lie at any depth", "src/layout/parser.cpp",
     "if (depth == kMaxBasisDepth)", "if (false)",
     "fuzz/replay_layout_parse {corpus}/layout_corpus --random 20000"),
]
THREAD = [
    ("threads share the last error", STATUS, "constinit thread_local ErrorInfo", "constinit ErrorInfo",
     "capi/capi_threads_test host"),
    ("the log's callback is read unlocked", LOG, "std::shared_lock lock(lock_.mutex());", "",
     "capi/capi_threads_test host"),
    ("a stream's progress is read unlocked", "src/runtime/host/worker.cpp",
     "const std::lock_guard lock(mutex_);\n  return done_;", "return done_;",
     "capi/capi_threads_test host"),
]


def read(path, before, after):
    text = (ROOT / path).read_text()
    assert text.count(before) >= 1, f"{path} has no {before}: the fault cannot be planted"
    return text.replace(before, after, 1)


def compiled(build, commands, mutant, folder):
    """The object file of the mutant's source, compiled as in the build."""
    _, path, before, after, _, *source = mutant
    source = source[0] if source else path
    changed = folder / pathlib.Path(path).name
    changed.write_text(read(path, before, after))
    file = folder / pathlib.Path(source).name
    if source != path:
        file.write_text((ROOT / source).read_text())
        # Headers are included by their path from src/ or from the top.
        header = folder / path.removeprefix("src/")
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(changed.read_text())
    words = shlex.split(commands[os.path.realpath(ROOT / source)])
    words[words.index("-o") + 1] = str(folder / "mutant.o")
    words[words.index("-c") + 1] = str(file)
    # The fault may leave something unused: no warnings. Compiling takes longer than running: no optimization.
    common.output(*words, "-O0", f"-iquote{(ROOT / source).parent}", "-w", cwd=build)
    return folder / "mutant.o"


def linked(build, program, mutant, folder):
    """A copy of the test program with this object in place of the library's own."""
    words = shlex.split(common.output("ninja", "-C", build, "-t", "commands", "-s", program))
    words[words.index("-o") + 1] = str(folder / "program")
    for archive in ("capi/libtilewright.a", "capi/libtw_capi.a", "src/libtw_core.a"):
        if archive in words:
            parts = [archive] if archive != "capi/libtilewright.a" else ["capi/libtw_capi.a", "src/libtw_core.a"]
            words[words.index(archive):words.index(archive) + 1] = [str(mutant), *parts]
            break
    common.output(*words, cwd=build)
    return folder / "program"


def survives(build, commands, mutant):
    """Whether the test passes with the fault, or why it could not run."""
    program, *arguments = mutant[4].split()
    if not program.startswith(("capi/", "fuzz/")):
        arguments.append("-aa=1")  # doctest: the first failure ends the run
    arguments = [word.format(corpus=ROOT / "tests" / "fuzz") for word in arguments]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        changed = linked(build, f"tests/{program}", compiled(build, commands, mutant, folder), folder)
        # For programs whose device is not an argument.
        device = {"TW_TEST_DEVICE": "cuda" if mutant in ON_A_GPU else "host", "TW_STOP_AT_FAILURE": "1"}
        # Threads may miss each other in a run on a busy machine, so that these tests run several times.
        for _ in range(10 if program == THREADED else 1):
            try:
                done = subprocess.run([changed, *arguments], capture_output=True, text=True,
                                      errors="replace", timeout=10 if mutant[0] in HANGS else 300,
                                      env=os.environ | device)
            except subprocess.TimeoutExpired:
                return None
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            print(f"{mutant[0]}: {program} exits {done.returncode}, {last}", flush=True)
            if done.returncode not in (0, 77):
                return None
    return f"{mutant[0]}: {program} passes"


def main():
    build, sanitizers = pathlib.Path(sys.argv[1]), sys.argv[2]
    mutants = {"none": PLAIN, "thread": THREAD}.get(sanitizers, ADDRESS)
    if sanitizers == "none" and os.path.exists("/dev/nvidiactl"):
        mutants = mutants + ON_A_GPU
    # Entries of device code have argument lists and belong to another compiler.
    commands = {os.path.realpath(build / entry["file"]): entry["command"]
                for entry in json.loads((build / "compile_commands.json").read_text()) if "command" in entry}
    wanted = sys.argv[3] if sys.argv[3:] else ""
    mutants = [m for m in mutants if wanted in m[0] and (build / "tests" / m[4].split()[0]).exists()]
    survivors = [fault for mutant in mutants if (fault := survives(build, commands, mutant))]
    print("\n".join(survivors))
    print(f"{len(mutants)} mutants, {len(survivors)} not noticed")
    sys.exit(1 if survivors or not mutants else 0)


if __name__ == "__main__":
    main()
