// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_pointers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm_pointers.h"
#include "ops/common/maps.hpp"

namespace tw {
namespace {

// Bytes of the first region of the workspace, a GemmMatrix for each product. The maps follow it.
uint64_t matrices_bytes(const GemmDesc& desc) {
  return static_cast<uint64_t>(
      round_up(desc.batch * int64_t{sizeof(GemmMatrix)}, kGemmWorkspaceAlignment));
}

}  // namespace

uint64_t gemm_pointers_bytes(const GemmDesc& desc) {
  if (!desc.has(kGemmPointers)) return 0;
  return matrices_bytes(desc) + static_cast<uint64_t>(desc.batch) * (kGemmMaps * sizeof(KernelMap));
}

Status GemmPointers::create(Device& device, const GemmProblem& kernel_problem, bool uses_maps,
                            std::unique_ptr<GemmPointers>* out) {
  std::unique_ptr<GemmPointers> made(new GemmPointers(kernel_problem, uses_maps));
  const KernelEntry* entry = find_entry(device, Family::gemm, [&](const KernelEntry& candidate) {
    return (candidate.variant & (kGemmPrologue | kGemmStagingCopy)) == kGemmPrologue &&
           (candidate.feature == feature::host ||
            ((candidate.variant & kGemmNoMaps) == 0) == uses_maps);
  });
  TW_TRY(prepare_entry(device, Family::gemm, entry, 0, &made->prepared_));
  *out = std::move(made);
  return {};
}

// On the host device, if the caller gives no invalid_count, waits for the stream and checks the
// arrays, so that a run with a bad address fails before it writes anything.
Status GemmPointers::check_arrays(Stream& stream, const GemmPointersArgs& args) const {
  if (prepared_.entry->feature != feature::host || args.invalid_count != 0) return {};
  bool captured = false;
  TW_TRY(stream.is_captured(&captured));
  if (captured) return {};  // the arrays' contents may differ at each launch of the graph
  TW_TRY(stream.synchronize());
  const char* const names[] = {problem_.swapped ? "b" : "a", problem_.swapped ? "a" : "b", "c",
                               "d"};
  for (u32 operand = 0; operand < kGemmOperands; ++operand) {
    if (args.arrays[operand] == 0) continue;
    for (i32 i = 0; i < args.count; ++i) {
      const u64 address = reinterpret_cast<const u64*>(args.arrays[operand])[i];
      if (!gemm_bad_address(address, args.alignment[operand])) continue;
      return fail(address == 0 ? Code::ERROR_INVALID_ARGUMENT : Code::ERROR_MISALIGNED,
                  {.argument = names[operand],
                   .index = i,
                   .rule = address == 0 ? "address_not_null" : "promised_alignment",
                   .got = static_cast<int64_t>(address & (args.alignment[operand] - 1)),
                   .limit = static_cast<int64_t>(args.alignment[operand])},
                  "address %d of array %s is 0x%llx: it must be a multiple of %llu and not 0 (with "
                  "invalid_count given such products are counted and left out)",
                  i, names[operand], address, args.alignment[operand]);
    }
  }
  return {};
}

Status GemmPointers::launch(Stream& stream, const GemmRun& run, GemmEpilogueArgs* args) const {
  const GemmDesc& d = problem_.desc;
  const auto in = static_cast<uint32_t>(problem_.in_bytes);
  const auto result = static_cast<uint32_t>(problem_.out_bytes);
  const bool reads_ab = args->base.k > 0;
  GemmPointersArgs pointer_args{};
  pointer_args.maps[0] = args->base.map_a;
  pointer_args.maps[1] = args->base.map_b;
  pointer_args.maps[2] = args->base.map_d;
  pointer_args.arrays[0] = reads_ab ? (problem_.swapped ? run.b : run.a) : 0;
  pointer_args.arrays[1] = reads_ab ? (problem_.swapped ? run.a : run.b) : 0;
  pointer_args.arrays[2] = run.reads_c() ? run.c : 0;
  pointer_args.arrays[3] = run.d;
  pointer_args.alignment[0] = std::max(d.a_alignment, in);
  pointer_args.alignment[1] = std::max(d.b_alignment, in);
  pointer_args.alignment[2] = std::max(d.c_alignment, result);
  pointer_args.alignment[3] = std::max(d.d_alignment, result);
  pointer_args.matrices = run.workspace;
  pointer_args.product_maps = uses_maps_ ? run.workspace + matrices_bytes(d) : 0;
  pointer_args.invalid_count = run.invalid_count;
  pointer_args.count = static_cast<i32>(d.batch);
  TW_TRY(check_arrays(stream, pointer_args));
  args->matrices = pointer_args.matrices;
  args->maps = pointer_args.product_maps;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(ceil_div(d.batch, kGemmPointersWarps));
  config.block[0] = kGemmPointersWarps * 32;
  config.programmatic = d.has(kGemmProgrammatic);
  return stream.launch(*prepared_.kernel, config, &pointer_args, sizeof pointer_args);
}

}  // namespace tw
