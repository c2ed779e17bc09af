// SPDX-License-Identifier: Apache-2.0
// Plans arbitrary descriptions of every operation: planned, or refused with a message, without a
// fault, and a plan explains itself. Descriptions with small numbers also run on the host device,
// over memory that covers everything they can reach.
#include <cstdlib>
#include <vector>

#include "edits.hpp"
#include "tilewright.h"

using namespace tw::fuzz;

namespace {

void require(bool good) {
  if (!good) std::abort();
}

struct World {
  tw_device* device = nullptr;
  tw_stream* stream = nullptr;
  std::vector<unsigned char> memory = std::vector<unsigned char>(kEach * 6);
  static constexpr size_t kEach = 1 << 20;

  World() {
    require(tw_device_create(TW_DEVICE_HOST, 0, &device) == TW_OK);
    require(tw_stream_create(device, &stream) == TW_OK);
    require(tw_memory_register(device, reinterpret_cast<uintptr_t>(memory.data()), memory.size()) ==
            TW_OK);
  }
  /// An address near the middle of one of six regions of 1 MB, at any alignment.
  uint64_t place(int k, Bytes* in) const {
    return reinterpret_cast<uintptr_t>(memory.data()) + static_cast<size_t>(k) * kEach + kEach / 2 +
           in->byte() % 32;
  }
};

World& world() {
  static World* const kept = new World;
  return *kept;
}

void look_at(tw_status status, tw_plan* const* made) {
  const tw_plan* plan = *made;
  require(status != TW_ERROR_INTERNAL);
  require((status == TW_OK) == (plan != nullptr));
  if (!plan) {
    require(tw_last_error()[0] != '\0');
    return;
  }
  tw_plan_info info;
  tw_plan_info_init(&info, sizeof info);
  require(tw_plan_get_info(plan, &info) == TW_OK);
  char text[2048];
  size_t length = 0;
  const tw_status explained = tw_plan_explain(plan, text, sizeof text, &length);
  require(explained == TW_OK || explained == TW_ERROR_BUFFER_TOO_SMALL);
}

void run(tw_status status) {
  require(status != TW_ERROR_INTERNAL);
  require(tw_stream_synchronize(world().stream) == TW_OK);
}

/// Whether all numbers are small enough to reach at most half a megabyte.
bool small(const int64_t* numbers, int count, int64_t most) {
  for (int i = 0; i < count; ++i)
    if (numbers[i] < -most || numbers[i] > most) return false;
  return true;
}

void copy(Bytes* in) {
  tw_copy_desc desc;
  require(tw_copy_desc_init(&desc, sizeof desc) == TW_OK);
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 1 + in->byte() % 4;
  for (int i = 0; i < 8; ++i) {
    desc.shape[i] = 1 + in->byte() % 8;
    desc.src_stride[i] = in->byte() % 64;
    desc.dst_stride[i] = in->byte() % 64;
  }
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_copy_plan(world().device, &desc, &plan), &plan);
  if (plan && small(desc.shape, 8, 8) && small(desc.src_stride, 8, 512) &&
      small(desc.dst_stride, 8, 512) && small(desc.src_shape, 8, 8) &&
      small(desc.src_start, 8, 8)) {
    tw_copy_args args;
    require(tw_copy_args_init(&args, sizeof args) == TW_OK);
    args.src = world().place(0, in);
    args.dst = world().place(1, in);
    run(tw_copy_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void prefetch(Bytes* in) {
  tw_prefetch_desc desc;
  require(tw_prefetch_desc_init(&desc, sizeof desc) == TW_OK);
  desc.dtype = TW_DTYPE_U8;
  desc.rows = 1 + in->byte() % 8;
  desc.columns = 1 + in->byte();
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_prefetch_plan(world().device, &desc, &plan), &plan);
  tw_plan_destroy(plan);
}

void rows(Bytes* in, bool scatter) {
  tw_rows_desc desc;
  require(tw_rows_desc_init(&desc, sizeof desc) == TW_OK);
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = 1 + in->byte() % 16;
  desc.columns = 1 + in->byte() % 64;
  desc.count = 1 + in->byte() % 16;
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at((scatter ? tw_scatter_plan : tw_gather_plan)(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.table_rows, desc.columns, desc.count, desc.column};
  const int64_t pitches[] = {desc.table_pitch, desc.packed_pitch};
  // The bounds cover the first version's fields; descriptions that use newer ones do not run.
  tw_rows_desc known;
  require(tw_rows_desc_init(&known, sizeof known) == TW_OK);
  const size_t newer = offsetof(tw_rows_desc, max_sms) + 4;
  if (plan && small(numbers, 4, 64) && small(pitches, 2, 512) &&
      std::memcmp(reinterpret_cast<char*>(&desc) + newer, reinterpret_cast<char*>(&known) + newer,
                  sizeof desc - newer) == 0) {
    tw_rows_args args;
    require(tw_rows_args_init(&args, sizeof args) == TW_OK);
    args.table = world().place(2, in);
    args.index = world().place(3, in) & ~uint64_t{7};
    args.packed = world().place(4, in);
    for (int i = 0; i < 64; ++i)
      reinterpret_cast<int64_t*>(args.index)[i] = in->empty() ? i % 4 : in->number();
    run((scatter ? tw_scatter_run : tw_gather_run)(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void copies(Bytes* in) {
  tw_copies_desc desc;
  require(tw_copies_desc_init(&desc, sizeof desc) == TW_OK);
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 1 + in->byte() % 4;
  desc.count = in->byte() % 4;
  for (int i = 0; i < 8; ++i) {
    desc.shape[i] = 1 + in->byte() % 8;
    desc.src_stride[i] = in->byte() % 64;
    desc.dst_stride[i] = in->byte() % 64;
  }
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_copies_plan(world().device, &desc, &plan), &plan);
  if (plan && small(desc.shape, 8, 8) && small(desc.src_stride, 8, 512) &&
      small(desc.dst_stride, 8, 512) && desc.count <= 4) {
    tw_copies_args args;
    require(tw_copies_args_init(&args, sizeof args) == TW_OK);
    args.src = world().place(3, in) & ~uint64_t{7};
    args.dst = args.src + 64;
    if (in->byte() % 2) args.invalid_count = args.src + 128;
    auto* const lists = reinterpret_cast<uint64_t*>(args.src);
    for (int i = 0; i < 4; ++i) {
      lists[i] = in->byte() % 8 == 0 ? 0 : world().place(0, in);
      lists[8 + i] = in->byte() % 8 == 0 ? 0 : world().place(1, in);
    }
    run(tw_copies_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void ragged(Bytes* in) {
  tw_ragged_desc desc;
  require(tw_ragged_desc_init(&desc, sizeof desc) == TW_OK);
  desc.dtype = TW_DTYPE_F32;
  desc.direction = in->byte() % 2;
  desc.batch = 1 + in->byte() % 8;
  desc.tokens = in->byte() % 32;
  desc.rows = 1 + in->byte() % 16;
  desc.columns = 1 + in->byte() % 32;
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_ragged_plan(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.batch, desc.tokens, desc.rows, desc.columns, desc.packed_columns};
  const int64_t pitches[] = {desc.packed_pitch, desc.padded_pitch, desc.padded_batch_pitch};
  if (plan && small(numbers, 5, 32) && small(pitches, 3, 64)) {
    tw_ragged_args args;
    require(tw_ragged_args_init(&args, sizeof args) == TW_OK);
    args.packed = world().place(2, in);
    args.offsets = world().place(3, in) & ~uint64_t{7};
    args.padded = world().place(4, in);
    args.row = in->number();
    args.column = in->byte() % 4;
    if (in->byte() % 2) args.invalid_count = args.offsets + 4096;
    for (int i = 0; i < 80; ++i)
      reinterpret_cast<int64_t*>(args.offsets)[i] = in->empty() ? i * 4 : in->number();
    run(tw_ragged_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void run_gemm(Bytes* in, const tw_gemm_desc& desc, tw_plan* plan) {
  tw_gemm_args args;
  require(tw_gemm_args_init(&args, sizeof args) == TW_OK);
  uint64_t* const operands[] = {&args.a, &args.b, &args.c, &args.d};
  for (int i = 0; i < 4; ++i) *operands[i] = world().place(i, in);
  args.beta = in->byte() % 2 ? 0.0f : 0.5f;
  const uint64_t words = world().place(4, in) & ~uint64_t{7};
  if (desc.flags & TW_GEMM_BATCH_POINTERS)
    for (uint64_t i = 0; i < 4; ++i) {
      auto* const list = reinterpret_cast<uint64_t*>(words + 512 * (i + 1));
      for (int z = 0; z < 8; ++z) list[z] = in->byte() % 8 == 0 ? 0 : *operands[i];
      *operands[i] = words + 512 * (i + 1);
    }
  auto* const device_m = reinterpret_cast<int64_t*>(words);
  *device_m = in->number();
  args.device_m = desc.flags & TW_GEMM_DEVICE_M ? words : 0;
  args.device_alpha = desc.flags & TW_GEMM_DEVICE_SCALARS ? words + 8 : 0;
  args.device_beta = desc.flags & TW_GEMM_DEVICE_SCALARS ? words + 16 : 0;
  args.bias = desc.bias != TW_PER_NONE ? words + 4096 : 0;
  args.d_factor = desc.d_factor != TW_PER_NONE ? words + 8192 : 0;
  args.amax = (desc.flags & TW_GEMM_AMAX) ? words + 24 : 0;
  args.invalid_count = in->byte() % 2 ? words + 32 : 0;
  args.workspace = world().place(5, in) / 256 * 256;
  args.workspace_bytes = World::kEach / 4;
  run(tw_gemm_run(plan, world().stream, &args));
}

void gemm(Bytes* in) {
  tw_gemm_desc desc;
  require(tw_gemm_desc_init(&desc, sizeof desc) == TW_OK);
  desc.m = in->byte() % 41;
  desc.n = in->byte() % 41;
  desc.k = in->byte() % 41;
  desc.a_order = in->byte() % 2;
  desc.b_order = in->byte() % 2;
  desc.d_order = in->byte() % 2;
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_gemm_plan(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.m, desc.n, desc.k, desc.lda, desc.ldb, desc.ldc, desc.ldd};
  const int64_t strides[] = {desc.a_batch_stride, desc.b_batch_stride, desc.c_batch_stride,
                             desc.d_batch_stride};
  if (plan && small(numbers, 7, 64) && small(strides, 4, 8192) && desc.batch_count <= 8)
    run_gemm(in, desc, plan);
  tw_plan_destroy(plan);
}

void elementwise(Bytes* in) {
  const tw_dtype types[] = {TW_DTYPE_F32,    TW_DTYPE_F16,    TW_DTYPE_BF16,
                            TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I16};
  tw_elementwise_desc desc;
  require(tw_elementwise_desc_init(&desc, sizeof desc) == TW_OK);
  desc.a_dtype = types[in->byte() % 6];
  desc.b_dtype = in->byte() % 2 ? types[in->byte() % 6] : 0;
  desc.dst_dtype = types[in->byte() % 6];
  desc.reduction = in->byte() % 4;
  desc.combine = in->byte() % 2;
  desc.activation = in->byte() % 5;
  desc.flags = in->byte() % 4;
  desc.rank = 1 + in->byte() % 4;
  for (int i = 0; i < desc.rank; ++i) {
    desc.shape[i] = 1 + in->byte() % 8;
    desc.a_stride[i] = in->byte() % 64;
    if (desc.b_dtype != 0) desc.b_stride[i] = in->byte() % 64;
    desc.dst_stride[i] = in->byte() % 64;
  }
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_elementwise_plan(world().device, &desc, &plan), &plan);
  if (plan && small(desc.shape, desc.rank, 8) && small(desc.a_stride, desc.rank, 512) &&
      (desc.b_dtype == 0 || small(desc.b_stride, desc.rank, 512)) &&
      small(desc.dst_stride, desc.rank, 512)) {
    const bool adds = desc.b_dtype != 0 && desc.combine == TW_COMBINE_ADD;
    const bool scalars = (desc.flags & TW_ELEMENTWISE_DEVICE_SCALARS) != 0;
    tw_elementwise_args args;
    require(tw_elementwise_args_init(&args, sizeof args) == TW_OK);
    args.a = world().place(0, in);
    if (desc.b_dtype != 0) args.b = world().place(1, in);
    args.dst = in->byte() % 4 ? world().place(2, in) : args.a;
    args.alpha = static_cast<float>(in->number());
    if (adds) args.beta = 0.25f * static_cast<float>(in->number());
    if (scalars && in->byte() % 4) args.device_alpha = world().place(3, in);
    if (scalars && adds && in->byte() % 2) args.device_beta = world().place(3, in);
    run(tw_elementwise_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void route(Bytes* in) {
  tw_route_desc desc;
  require(tw_route_desc_init(&desc, sizeof desc) == TW_OK);
  const bool given = in->byte() % 4 == 0;
  desc.dtype = given ? 0 : TW_DTYPE_F32;
  desc.flags = given ? TW_ROUTE_GIVEN_IDS : 0;
  desc.tokens = in->byte() % 32;
  desc.experts = 1 + in->byte() % 32;
  desc.top_k = 1 + in->byte() % 4;
  if (in->byte() % 2) desc.local_experts = 1 + in->byte() % 8;
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_route_plan(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.tokens, desc.experts, desc.top_k, desc.logits_pitch};
  if (plan && small(numbers, 4, 48)) {
    tw_route_args args;
    require(tw_route_args_init(&args, sizeof args) == TW_OK);
    (desc.flags & TW_ROUTE_GIVEN_IDS ? args.given_ids : args.logits) = world().place(0, in);
    if (in->byte() % 2) args.bias = world().place(1, in);
    if (in->byte() % 2) args.expert_map = world().place(2, in);
    args.ids = world().place(3, in);
    args.offsets = world().place(4, in) & ~uint64_t{7};
    if (in->byte() % 2) args.order = args.ids + 8192;
    if (in->byte() % 2) args.inverse = args.offsets + 8192;
    if (in->byte() % 2) args.invalid_count = args.offsets + 4096;
    run(tw_route_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

void quantize(Bytes* in) {
  constexpr tw_dtype kWide[] = {TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32};
  constexpr tw_dtype kNarrow[] = {TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I8};
  tw_quantize_desc desc;
  require(tw_quantize_desc_init(&desc, sizeof desc) == TW_OK);
  const uint8_t options = in->byte();
  const tw_dtype wide = kWide[in->byte() % 3], narrow = kNarrow[in->byte() % 3];
  desc.src_dtype = options & 1 ? narrow : wide;
  desc.dst_dtype = options & 1 ? wide : narrow;
  desc.scale = 1 + in->byte() % 4;
  if (options & 2) desc.scale_order = TW_COLUMN_MAJOR;
  if (options & 4) desc.flags = in->byte() % 4;
  desc.rows = in->byte() % 40;
  desc.columns = in->byte() % 40;
  if (options & 8) desc.src_pitch = desc.columns + in->byte() % 8;
  if (options & 16) desc.dst_pitch = desc.columns + in->byte() % 8;
  if (options & 32) desc.scale_ld = in->byte() % 48;
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_quantize_plan(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.rows, desc.columns, desc.src_pitch, desc.dst_pitch,
                             desc.scale_ld};
  if (plan && small(numbers, 5, 48)) {
    tw_quantize_args args;
    require(tw_quantize_args_init(&args, sizeof args) == TW_OK);
    args.src = world().place(0, in), args.dst = world().place(3, in);
    args.scale = world().place(1, in) & ~uint64_t{3};
    if (options & 64) args.amax = world().place(2, in) & ~uint64_t{3};
    args.workspace = world().place(4, in) & ~uint64_t{255};
    args.workspace_bytes = 4096;
    run(tw_quantize_run(plan, world().stream, &args));
  }
  tw_plan_destroy(plan);
}

// The group sizes are whatever the memory holds.
void run_grouped(Bytes* in, const tw_grouped_desc& desc, tw_plan* plan) {
  tw_grouped_args args;
  require(tw_grouped_args_init(&args, sizeof args) == TW_OK);
  args.a = world().place(0, in);
  args.b = world().place(1, in);
  args.d = world().place(2, in);
  const uint64_t numbers = world().place(3, in) & ~uint64_t{7};
  for (uint64_t i = 0; i < 512; ++i) reinterpret_cast<int32_t*>(numbers)[i] = in->byte() % 48 - 2;
  args.groups = desc.grouping == TW_GROUPING_ONE ? 0 : numbers;
  const bool ranges = desc.grouping == TW_GROUPING_K_RANGES;
  if (desc.flags & TW_GROUPED_GATHER) args.a_rows = numbers + 64;
  if (desc.flags & TW_GROUPED_SCATTER) args.d_rows = numbers + 128;
  if (desc.flags & TW_GROUPED_INVERSE) args.inverse = numbers + 32;
  if (desc.bias_dtype != 0) args.bias = world().place(4, in) & ~uint64_t{3};
  if (!ranges && in->byte() % 2) args.group_map = numbers + 16;
  if (!ranges && in->byte() % 2) args.row_weights = args.b & ~uint64_t{3};
  if (in->byte() % 2) args.invalid_count = (world().place(4, in) & ~uint64_t{7}) + 65536;
  if (desc.a_scale != TW_SCALE_NONE) args.a_scale = args.a & ~uint64_t{3};
  if (desc.b_scale != TW_SCALE_NONE) args.b_scale = args.b & ~uint64_t{3};
  args.workspace = world().place(5, in) / 256 * 256;
  args.workspace_bytes = World::kEach / 4;
  run(tw_grouped_run(plan, world().stream, &args));
}

void grouped(Bytes* in) {
  tw_grouped_desc desc;
  require(tw_grouped_desc_init(&desc, sizeof desc) == TW_OK);
  desc.m = in->byte() % 40;
  desc.n = 2 * (in->byte() % 12);
  desc.k = in->byte() % 24;
  desc.grouping = in->byte() % 7;
  desc.group_count = desc.grouping == TW_GROUPING_ONE ? 1 : in->byte() % 8;
  const uint8_t options = in->byte();
  if (options & 1) desc.flags |= TW_GROUPED_GATHER, desc.a_count = 1 + in->byte() % 32;
  if (options & 2) desc.flags |= TW_GROUPED_SCATTER, desc.d_count = 1 + in->byte() % 32;
  if (options & 2) desc.combine = in->byte() % 4, desc.d_divisor = in->byte() % 4;
  if (options & 4) desc.gate = 1 + in->byte() % 2;
  if (options & 8) desc.bias_dtype = TW_DTYPE_F32;
  if (options & 16) {
    desc.a_dtype = in->byte() % 4 ? TW_DTYPE_F8E4M3 : TW_DTYPE_I8;
    desc.d_dtype = in->byte() % 2 ? TW_DTYPE_BF16 : TW_DTYPE_F32;
    desc.a_scale = desc.b_scale = in->byte() % 4;
    if (desc.a_scale == TW_SCALE_1X128) {
      desc.k += 128 * (in->byte() % 2);
      desc.b_scale += in->byte() % 2;
      desc.a_scale_order = in->byte() % 2, desc.b_scale_order = in->byte() % 2;
    }
    if (options & 32) desc.a_scale_stride = in->byte(), desc.b_scale_stride = in->byte();
  }
  edit(in, &desc, 6);
  tw_plan* plan = nullptr;
  look_at(tw_grouped_plan(world().device, &desc, &plan), &plan);
  const int64_t numbers[] = {desc.m,          desc.n,         desc.group_count, desc.weight_count,
                             desc.lda,        desc.ldb,       desc.ldd,         desc.a_count,
                             desc.d_count,    desc.a_divisor, desc.d_divisor,   desc.group_rows,
                             desc.a_scale_ld, desc.b_scale_ld};
  const int64_t strides[] = {desc.b_stride, desc.d_stride, desc.bias_stride, desc.a_scale_stride,
                             desc.b_scale_stride};
  if (plan && small(numbers, 14, 48) && small(&desc.k, 1, 256) && small(strides, 5, 2048))
    run_grouped(in, desc, plan);
  tw_plan_destroy(plan);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  const uint8_t which = in.byte();
  switch (which / 16 == 0xb   ? 10
          : which / 16 == 0xc ? 9
          : which / 16 == 0xd ? 7 + which / 8 % 2
          : which < 0xe0      ? which % 5
                              : 5 + which % 2) {
    case 0:
      copy(&in);
      break;
    case 1:
      prefetch(&in);
      break;
    case 2:
      rows(&in, false);
      break;
    case 3:
      rows(&in, true);
      break;
    case 4:
      gemm(&in);
      break;
    case 5:
      ragged(&in);
      break;
    case 6:
      copies(&in);
      break;
    case 7:
      elementwise(&in);
      break;
    case 8:
      route(&in);
      break;
    case 9:
      grouped(&in);
      break;
    default:
      quantize(&in);
  }
  return 0;
}
