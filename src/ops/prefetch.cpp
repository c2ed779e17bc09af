// SPDX-License-Identifier: Apache-2.0
#include "ops/prefetch.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/checked.hpp"
#include "ops/maps.hpp"
#include "ops/rows_ring.hpp"
#include "tensor_map/check.hpp"

namespace tw {
namespace {

constexpr uint64_t kAligned = 16;
constexpr int64_t kMaxSpan = int64_t{1} << 60;
constexpr int64_t kBoxBytes = 8192;  // what one instruction asks for, by either method
constexpr uint32_t kBlocksOfSm = 4;

Status wrong(const char* argument, const char* rule, int64_t got, const char* text) {
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = rule, .got = got},
              "%s is %" PRId64 ": %s", argument, got, text);
}

DType unsigned_type(int64_t bytes) {
  return bytes == 8 ? DType::U64 : bytes == 4 ? DType::U32 : bytes == 2 ? DType::U16 : DType::U8;
}

}  // namespace

Status PrefetchPlan::create(const std::shared_ptr<Device>& device, const PrefetchDesc& desc,
                            std::unique_ptr<Plan>* out) {
  std::unique_ptr<PrefetchPlan> plan(new PrefetchPlan(device, desc));
  TW_TRY(plan->check());
  if (plan->total_bytes_ != 0) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status PrefetchPlan::check() {
  PrefetchDesc& d = desc_;
  if (!is_dtype(static_cast<int32_t>(d.dtype)))
    return wrong("dtype", "prefetch_dtype", static_cast<int64_t>(d.dtype),
                 "it names no element type");
  if (d.rows < 0) return wrong("rows", "prefetch_extent", d.rows, "it is 0 or more");
  if (d.columns < 0) return wrong("columns", "prefetch_extent", d.columns, "it is 0 or more");
  if (d.pitch == 0) d.pitch = d.columns;
  if (d.rows > 1 && d.pitch < d.columns)
    return wrong("pitch", "prefetch_pitch", d.pitch, "less than columns; 0 means packed");
  element_bytes_ = dtype_bytes(d.dtype);
  TW_TRY(check_alignment("alignment", d.alignment, static_cast<uint32_t>(element_bytes_)));
  if (d.rows == 0 || d.columns == 0) return {};
  int64_t row = 0;
  int64_t reach = 0;
  if (d.rows == 1) d.pitch = d.columns;
  if (!checked_mul(d.columns, element_bytes_, &row) ||
      !checked_mul(d.pitch, element_bytes_, &pitch_bytes_) || pitch_bytes_ > kMaxSpan ||
      !checked_mul(d.rows - 1, pitch_bytes_, &reach) || reach > kMaxSpan)
    return fail(Code::ERROR_OVERFLOW, {.argument = "rows", .rule = "prefetch_span"},
                "%" PRId64 " rows of %" PRId64 " elements exceed 2^60 bytes", d.rows, d.pitch);
  row_bytes_ = static_cast<uint64_t>(row);
  total_bytes_ = static_cast<uint64_t>(reach + row);
  // Rows that touch are one range.
  if (d.pitch == d.columns) {
    row_bytes_ = total_bytes_;
    pitch_bytes_ = static_cast<int64_t>(total_bytes_);
  }
  return {};
}

Status PrefetchPlan::prepare() {
  const auto row_of = [&](uint32_t method) {
    return find_row(*device(), Family::prefetch,
                    [&](const KernelRow& row) { return row.variant == method; });
  };
  if (desc_.methods & (1u << kPrefetchBoxes)) {
    bool fits = false;
    TW_TRY(fill_boxes(&fits));
    if (fits) TW_TRY(prepare_row(*device(), Family::prefetch, row_of(kPrefetchBoxes), 0, &boxes_));
  }
  fill_rows();
  if (boxes_ && desc_.alignment >= kAligned) return {};
  return prepare_row(*device(), Family::prefetch, row_of(kPrefetchRows), 0, &rows_);
}

Status PrefetchPlan::fill_boxes(bool* fits) {
  const auto row = static_cast<int64_t>(row_bytes_);
  const int64_t rows = static_cast<uint64_t>(pitch_bytes_) == total_bytes_ ? 1 : desc_.rows;
  const int64_t element = std::min<int64_t>(8, alignment_of(row_bytes_));
  *fits = rows > 1 && row >= 16 && pitch_bytes_ % 16 == 0 && pitch_bytes_ <= kMaxStride &&
          rows <= INT32_MAX && row / element <= INT32_MAX;
  if (!*fits) return {};
  TensorMapDesc desc;
  desc.dtype = unsigned_type(element);
  desc.rank = 2;
  desc.global_dim[0] = static_cast<uint64_t>(row / element);
  desc.global_dim[1] = static_cast<uint64_t>(rows);
  desc.global_strides[0] = static_cast<uint64_t>(pitch_bytes_);
  const int64_t columns = ceil_div(row / element, kMaxBoxDim);
  const int64_t width = round_up(ceil_div(row / element, columns), 16 / element);
  const int64_t height =
      std::min({kMaxBoxDim, rows, std::max<int64_t>(1, kBoxBytes / (width * element))});
  desc.box_dim[0] = box_args_.box[0] = static_cast<uint32_t>(width);
  desc.box_dim[1] = box_args_.box[1] = static_cast<uint32_t>(height);
  box_args_.tiles_x = static_cast<u32>(ceil_div(row / element, width));
  box_args_.tiles = static_cast<u64>(ceil_div(rows, height)) * box_args_.tiles_x;
  return encode_map(*device(), desc, &box_args_.map);
}

void PrefetchPlan::fill_rows() {
  const bool one = static_cast<uint64_t>(pitch_bytes_) == total_bytes_;
  row_args_.rows = one ? 1 : static_cast<u64>(desc_.rows);
  row_args_.row_bytes = row_bytes_;
  row_args_.pitch = pitch_bytes_;
  // One long range in few chunks would leave SMs idle, and each chunk is one instruction.
  u64 chunk = kBoxBytes;
  while (row_bytes_ / chunk > UINT32_MAX) chunk *= 2;
  row_args_.chunk_bytes = static_cast<u32>(chunk);
  row_args_.chunks = static_cast<u32>((row_bytes_ + chunk - 1) / chunk);
}

const PreparedKernel& PrefetchPlan::choose(uint64_t src) const {
  return boxes_ && src % kAligned == 0 ? boxes_ : rows_;
}

LaunchConfig PrefetchPlan::config(const PreparedKernel& kernel) const {
  const uint64_t room = uint64_t{usable_sms(*device(), desc_.max_sms)} * kBlocksOfSm;
  const uint64_t items = &kernel == &boxes_ ? box_args_.tiles : row_args_.rows * row_args_.chunks;
  LaunchConfig config;
  // Every SM takes part before any thread gets a second piece.
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(items, 1, room));
  config.block[0] = kPrefetchThreads;
  return config;
}

Status PrefetchPlan::run(Stream& stream, uint64_t src) const {
  if (total_bytes_ == 0) return {};
  TW_TRY(
      check_address("src", src, std::max(desc_.alignment, static_cast<uint32_t>(element_bytes_))));
  const PreparedKernel& kernel = choose(src);
  if (&kernel == &boxes_) {
    PrefetchBoxArgs args = box_args_;
    rebind_address(&args.map, src);
    return stream.launch(*kernel.kernel, config(kernel), &args, sizeof args);
  }
  PrefetchRowArgs args = row_args_;
  args.src = src;
  return stream.launch(*kernel.kernel, config(kernel), &args, sizeof args);
}

// Rows whose addresses are alike modulo 16 have as many chunks, and there are 16 kinds at most.
uint64_t PrefetchPlan::bulk_prefetches(uint64_t src) const {
  uint64_t total = 0;
  const uint64_t kinds = std::min<uint64_t>(row_args_.rows, 16);
  for (uint64_t kind = 0; kind < kinds; ++kind) {
    const uint64_t address = src + kind * static_cast<uint64_t>(pitch_bytes_);
    uint64_t chunks = 0;
    const uint64_t from = (address + 15) / 16 * 16;
    const uint64_t end = (address + row_bytes_) / 16 * 16;
    if (end > from) chunks = (end - from + row_args_.chunk_bytes - 1) / row_args_.chunk_bytes;
    total += chunks * ((row_args_.rows - kind + 15) / 16);
  }
  return total;
}

PlanInfo PrefetchPlan::info() const {
  PlanInfo info;
  info.op = Op::prefetch;
  if (total_bytes_ == 0) return info;
  const uint64_t src = promised_address(desc_.alignment);
  const PreparedKernel& kernel = choose(src);
  info.kernel = kernel.row->symbol;
  const LaunchConfig launch = config(kernel);
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  const bool boxes = &kernel == &boxes_;
  info.tile[0] = boxes ? box_args_.box[1] : 1;
  info.tile[1] =
      boxes ? static_cast<uint32_t>(std::min<uint64_t>(
                  row_bytes_, box_args_.box[0] * std::min<uint64_t>(8, alignment_of(row_bytes_)))) /
                  static_cast<uint32_t>(element_bytes_)
            : row_args_.chunk_bytes / static_cast<uint32_t>(element_bytes_);
  info.boxes_prefetched = boxes ? box_args_.tiles : bulk_prefetches(src);
  info.bytes_read = row_args_.rows * row_bytes_;
  return info;
}

std::string PrefetchPlan::explain() const {
  const PlanInfo i = info();
  char text[512];
  std::snprintf(text, sizeof text, "prefetch of %s [%" PRId64 ", %" PRId64 "], pitch %" PRId64 "\n",
                dtype_name(desc_.dtype), desc_.rows, desc_.columns, desc_.pitch);
  std::string out = text;
  if (total_bytes_ == 0) return out + "empty, nothing runs\n";
  std::snprintf(text, sizeof text,
                "kernel %s: %u blocks of %u threads, pieces of %ux%u elements, %" PRIu64
                " pieces asked for; done means issued\n",
                i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.boxes_prefetched);
  out += text;
  if (!boxes_)
    out +=
        "bulk prefetches of rows: one plain range, or a pitch that is no multiple of 16 bytes, has "
        "no use for a tensor map\n";
  else if (rows_)
    out += "where the address is no multiple of 16, runs take " + std::string(rows_.row->symbol) +
           ", which stays between the 16-byte boundaries inside each row\n";
  return out;
}

}  // namespace tw
