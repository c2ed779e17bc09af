// SPDX-License-Identifier: Apache-2.0
#include "ops/prefetch/prefetch.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/checked.hpp"
#include "ops/common/fields.hpp"
#include "ops/common/maps.hpp"
#include "ops/common/rows_ring.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

constexpr uint64_t kAligned = 16;
constexpr int64_t kRequestBytes = kPrefetchBytes;  // per instruction, for boxes and for rows
constexpr uint32_t kBlocksPerSm = 1;

Status wrong(const char* argument, const char* rule, int64_t got, int64_t limit, const char* text) {
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument, .rule = rule, .got = got, .limit = limit},
              "%s is %" PRId64 ": %s", argument, got, text);
}

DType unsigned_type(int64_t bytes) {
  return bytes == 8 ? DType::U64 : bytes == 4 ? DType::U32 : bytes == 2 ? DType::U16 : DType::U8;
}

// The number of rows for each value of a row's address modulo 16.
struct ByResidue {
  uint64_t rows[16];
};

// Counts `steps` copies of the rows, `stride` bytes apart, starting at `first`. Residues repeat
// every 16 copies, so copy i stands for copies i, i + 16, i + 32 and so on.
ByResidue repeat(const ByResidue& inner, uint64_t first, uint64_t stride, uint64_t steps) {
  ByResidue out{};
  for (uint64_t i = 0; i < std::min<uint64_t>(steps, 16); ++i)
    for (uint64_t residue = 0; residue < 16; ++residue)
      out.rows[(residue + first + i * stride) % 16] +=
          inner.rows[residue] * ((steps - i + 15) / 16);
  return out;
}

}  // namespace

Status PrefetchPlan::create(const std::shared_ptr<Device>& device, const PrefetchDesc& desc,
                            std::unique_ptr<Plan>* out) {
  std::unique_ptr<PrefetchPlan> plan(new PrefetchPlan(device, desc));
  TW_TRY(plan->check_desc());
  if (plan->row_bytes_ != 0) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status PrefetchPlan::check(const Device&, const PrefetchDesc& desc) {
  return PrefetchPlan(nullptr, desc).check_desc();
}

Status PrefetchPlan::check_desc() {
  PrefetchDesc& d = desc_;
  TW_TRY(check_dtype("dtype", "prefetch_dtype", d.dtype));
  TW_TRY(check_cache("cache", d.cache));
  if (d.budget < 0) return wrong("budget", "prefetch_budget", d.budget, 0, "it is 0 or more bytes");
  if (d.rank < 0 || d.rank > kMaxCopyRank)
    return wrong("rank", "prefetch_rank", d.rank, kMaxCopyRank,
                 "it is 1 to 8, or 0 for rows and columns");
  if (d.rank == 0) {
    if (d.rows < 0) return wrong("rows", "prefetch_extent", d.rows, 0, "it is 0 or more");
    if (d.columns < 0) return wrong("columns", "prefetch_extent", d.columns, 0, "it is 0 or more");
    pitch_name_ = d.pitch == 0 ? "columns" : "pitch";
    if (d.pitch == 0) d.pitch = d.columns;
    if (d.rows > 1 && d.pitch < d.columns)
      return wrong("pitch", "prefetch_pitch", d.pitch, d.columns,
                   "less than columns; 0 means packed");
    d.shape[0] = d.rows;
    d.shape[1] = d.columns;
    d.stride[0] = d.pitch;
    d.stride[1] = 1;
  }
  element_bytes_ = dtype_bytes(d.dtype);
  TW_TRY(check_alignment("alignment", d.alignment, static_cast<uint32_t>(element_bytes_)));
  const int32_t rank = d.rank == 0 ? 2 : d.rank;
  for (int32_t i = 0; i < rank; ++i)
    if (d.shape[i] < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .rule = "prefetch_extent", .got = d.shape[i]},
                  "shape[%" PRId32 "] is %" PRId64 ": an extent is 0 or more", i, d.shape[i]);
  if (std::find(d.shape, d.shape + rank, 0) != d.shape + rank) return {};
  TW_TRY(read_dims());
  return apply_budget();
}

// Returns dimension i with the caller's names for its numbers.
SpanDim PrefetchPlan::span_dim(int32_t i) const {
  SpanDim dim{.rule = "prefetch_span",
              .extent_name = "shape",
              .stride_name = "stride",
              .index = i,
              .extent = desc_.shape[i],
              .stride = desc_.stride[i],
              .element_bytes = element_bytes_};
  if (desc_.rank != 0) return dim;
  dim.index = -1;
  dim.extent_name = i == 0 ? "rows" : "columns";
  dim.stride_name = i == 0 ? pitch_name_ : nullptr;
  return dim;
}

// A dimension of stride 0 is prefetched once; one that runs backwards starts at its other end.
Status PrefetchPlan::read_dims() {
  const int32_t rank = desc_.rank == 0 ? 2 : desc_.rank;
  int64_t covered = element_bytes_;
  int64_t bytes = element_bytes_;
  for (int32_t i = 0; i < rank; ++i) {
    Dim dim{desc_.shape[i], 0};
    if (dim.extent == 1 || desc_.stride[i] == 0) continue;
    int64_t distance = 0;
    TW_TRY(span_of(span_dim(i), covered, &dim.stride, &distance));
    // Dimensions may overlap, so `bytes` may exceed `covered`.
    const int64_t before = bytes;
    if (!checked_mul(before, dim.extent, &bytes))
      return fail(Code::ERROR_OVERFLOW,
                  {.argument = "shape",
                   .index = i,
                   .rule = "prefetch_span",
                   .got = dim.extent,
                   .limit = INT64_MAX / before},
                  "shape[%" PRId32 "] is %" PRId64
                  ": the elements of the dimensions so far exceed 2^63 - 1 bytes; it must be at "
                  "most %" PRId64,
                  i, dim.extent, INT64_MAX / before);
    if (dim.stride < 0) {
      offset_ += distance;
      dim.stride = -dim.stride;
    }
    covered += distance < 0 ? -distance : distance;
    int32_t at = rank_++;
    for (; at > 0 && dims_[at - 1].stride > dim.stride; --at) dims_[at] = dims_[at - 1];
    dims_[at] = dim;
  }
  int32_t kept = 0;
  int64_t rows = 1;
  int64_t row = element_bytes_;
  for (int32_t i = 0; i < rank_; ++i) {
    const Dim dim = dims_[i];
    if (kept == 0 && dim.stride == row) {
      row *= dim.extent;
    } else if (kept > 0 && dim.stride == dims_[kept - 1].stride * dims_[kept - 1].extent) {
      dims_[kept - 1].extent *= dim.extent;
    } else {
      dims_[kept++] = dim;
    }
  }
  rank_ = kept;
  for (int32_t i = 0; i < rank_; ++i) rows *= dims_[i].extent;
  reach_bytes_ = static_cast<uint64_t>(covered);
  row_bytes_ = static_cast<uint64_t>(row);
  row_count_ = static_cast<uint64_t>(rows);
  all_bytes_ = static_cast<uint64_t>(bytes);
  return {};
}

// Keeps whole rows in the order of dims_, or the beginning of the first row. If the strides are not
// nested, this differs from the order of addresses, which would require a list of rows.
Status PrefetchPlan::apply_budget() {
  const auto budget = static_cast<uint64_t>(desc_.budget);
  if (budget == 0 || budget >= all_bytes_) return {};
  row_count_ = budget / row_bytes_;
  if (row_count_ != 0) return {};
  row_count_ = 1;
  const auto element = static_cast<uint64_t>(element_bytes_);
  row_bytes_ = budget / element * element;
  if (row_bytes_ == 0)
    return wrong("budget", "prefetch_budget", desc_.budget, element_bytes_,
                 "it must be at least one element, or 0 for no limit");
  return {};
}

Status PrefetchPlan::prepare() {
  const auto entry_of = [&](uint32_t method) {
    return find_entry(*device(), Family::prefetch,
                      [&](const KernelEntry& entry) { return entry.variant == method; });
  };
  if (desc_.methods & (1u << kPrefetchBoxes)) {
    bool fits = false;
    TW_TRY(fill_boxes(&fits));
    if (fits)
      TW_TRY(prepare_entry(*device(), Family::prefetch, entry_of(kPrefetchBoxes), 0, &box_kernel_));
  }
  fill_rows();
  // Reversing a dimension moves the first byte, which may then be misaligned.
  if (box_kernel_ && desc_.alignment >= kAligned && offset_ % kAligned == 0) return {};
  return prepare_entry(*device(), Family::prefetch, entry_of(kPrefetchRows), 0, &row_kernel_);
}

Status PrefetchPlan::fill_boxes(bool* fits) {
  const auto row = static_cast<int64_t>(row_bytes_);
  const auto rows = static_cast<int64_t>(row_count_);
  const int64_t pitch = rank_ == 0 ? row : dims_[0].stride;
  const int64_t element = std::min<int64_t>(8, alignment_of(row_bytes_));
  // A tensor map cannot describe overlapping rows.
  *fits = rank_ == 1 && rows > 1 && row >= 16 && pitch >= row && pitch % 16 == 0 &&
          pitch <= kMaxStride && rows <= INT32_MAX && row / element <= INT32_MAX;
  if (!*fits) return {};
  TensorMapDesc desc;
  desc.dtype = unsigned_type(element);
  desc.rank = 2;
  desc.global_dim[0] = static_cast<uint64_t>(row / element);
  desc.global_dim[1] = static_cast<uint64_t>(rows);
  desc.global_stride_bytes[0] = static_cast<uint64_t>(pitch);
  const int64_t columns = ceil_div(row / element, kMaxBoxDim);
  const int64_t width = round_up(ceil_div(row / element, columns), 16 / element);
  const int64_t height =
      std::min({kMaxBoxDim, rows, std::max<int64_t>(1, kRequestBytes / (width * element))});
  desc.box_dim[0] = box_args_.box[0] = static_cast<uint32_t>(width);
  desc.box_dim[1] = box_args_.box[1] = static_cast<uint32_t>(height);
  box_args_.tiles_x = static_cast<u32>(ceil_div(row / element, width));
  if (desc_.by == PrefetchBy::loads)
    box_args_.box_bytes = static_cast<u32>(width * height * element);
  box_args_.tiles = static_cast<u64>(ceil_div(rows, height)) * box_args_.tiles_x;
  return encode_map(*device(), desc, &box_args_.map);
}

void PrefetchPlan::fill_rows() {
  row_args_.rows = row_count_;
  row_args_.row_bytes = row_bytes_;
  row_args_.policy = box_args_.policy = cache_policy(desc_.cache);
  row_args_.rank = static_cast<u32>(rank_);
  for (int32_t d = 0; d < rank_; ++d) {
    row_args_.extent[d] = static_cast<u64>(dims_[d].extent);
    row_args_.stride[d] = dims_[d].stride;
  }
  // Small chunks, one per instruction, spread one long range over all SMs.
  u64 chunk = kRequestBytes;
  while (row_bytes_ / chunk > UINT32_MAX) chunk *= 2;
  row_args_.chunk_bytes = static_cast<u32>(chunk);
  // Loads go to shared memory, which has no room for the enlarged chunks of rows of terabytes.
  row_args_.loads = desc_.by == PrefetchBy::loads && chunk <= kPrefetchBytes ? 1 : 0;
  row_args_.chunks = static_cast<u32>((row_bytes_ + chunk - 1) / chunk);
}

const PreparedKernel& PrefetchPlan::choose(uint64_t src) const {
  return box_kernel_ && src % kAligned == 0 ? box_kernel_ : row_kernel_;
}

LaunchConfig PrefetchPlan::config(const PreparedKernel& kernel) const {
  const uint64_t maximum = max_blocks(*device(), desc_.max_sms, kBlocksPerSm);
  const uint64_t items =
      &kernel == &box_kernel_ ? box_args_.tiles : row_args_.rows * row_args_.chunks;
  LaunchConfig config;
  // Every SM gets an item before any thread gets a second one.
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(items, 1, maximum));
  config.block[0] = kPrefetchThreads;
  return config;
}

Status PrefetchPlan::run(Stream& stream, uint64_t src) const {
  if (row_bytes_ == 0) return {};
  TW_TRY(check_address("src", src, static_cast<uint32_t>(element_bytes_), desc_.alignment));
  src += static_cast<uint64_t>(offset_);
  TW_TRY(device()->check_memory("src", src, reach_bytes_));
  const PreparedKernel& kernel = choose(src);
  if (&kernel == &box_kernel_) {
    PrefetchBoxArgs args = box_args_;
    rebind_address(&args.map, src);
    return stream.launch(*kernel.kernel, config(kernel), &args, sizeof args);
  }
  PrefetchRowArgs args = row_args_;
  args.src = src;
  return stream.launch(*kernel.kernel, config(kernel), &args, sizeof args);
}

// Returns the number of chunks in all rows. The number in one row depends on the row's address
// modulo 16, so the rows are counted by that value. The budget may end inside a dimension. So
// row_count_ is taken apart: as many whole steps along the outermost dimension as fit, then along
// the next one, and so on.
uint64_t PrefetchPlan::bulk_chunk_count(uint64_t src) const {
  ByResidue inner[kMaxCopyRank + 1] = {{{1}}};
  uint64_t inner_rows[kMaxCopyRank + 1] = {1};
  for (int32_t d = 0; d < rank_; ++d) {
    const auto extent = static_cast<uint64_t>(dims_[d].extent);
    inner[d + 1] = repeat(inner[d], 0, static_cast<uint64_t>(dims_[d].stride), extent);
    inner_rows[d + 1] = inner_rows[d] * extent;
  }
  uint64_t total = 0;
  uint64_t left = row_count_;
  uint64_t from = src;
  for (int32_t d = rank_; d >= 0; --d) {
    const uint64_t stride = d == rank_ ? 0 : static_cast<uint64_t>(dims_[d].stride);
    const uint64_t steps = left / inner_rows[d];
    const ByResidue rows = repeat(inner[d], from, stride, steps);
    for (uint64_t residue = 0; residue < 16; ++residue) {
      const uint64_t begin = (residue + 15) / 16 * 16;
      const uint64_t end = (residue + row_bytes_) / 16 * 16;
      if (end > begin)
        total += rows.rows[residue] *
                 ((end - begin + row_args_.chunk_bytes - 1) / row_args_.chunk_bytes);
    }
    from += steps * stride;
    left -= steps * inner_rows[d];
  }
  return total;
}

PlanInfo PrefetchPlan::info() const {
  PlanInfo info;
  info.op = Op::prefetch;
  if (row_bytes_ == 0) return info;
  const uint64_t src = promised_address(desc_.alignment) + static_cast<uint64_t>(offset_);
  const PreparedKernel& kernel = choose(src);
  info.kernel = kernel.entry->symbol;
  const LaunchConfig launch = config(kernel);
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  const bool boxes = &kernel == &box_kernel_;
  info.tile[0] = boxes ? box_args_.box[1] : 1;
  info.tile[1] =
      boxes ? static_cast<uint32_t>(std::min<uint64_t>(
                  row_bytes_, box_args_.box[0] * std::min<uint64_t>(8, alignment_of(row_bytes_)))) /
                  static_cast<uint32_t>(element_bytes_)
            : row_args_.chunk_bytes / static_cast<uint32_t>(element_bytes_);
  info.boxes_prefetched = boxes ? box_args_.tiles : bulk_chunk_count(src);
  info.bytes_read = row_args_.rows * row_bytes_;
  return info;
}

std::string PrefetchPlan::explain() const {
  const PlanInfo i = info();
  char text[512];
  std::snprintf(text, sizeof text,
                "prefetch of %s: %" PRIu64 " rows of %" PRIu64 " bytes in %d dimensions\n",
                dtype_name(desc_.dtype), row_count_, row_bytes_, rank_);
  std::string out = text;
  if (row_bytes_ == 0) return out + "empty, nothing runs\n";
  const bool loads = row_args_.loads != 0;
  std::snprintf(text, sizeof text,
                "kernel %s: %u blocks of %u threads, pieces of %ux%u elements, %" PRIu64
                " pieces %s\n",
                i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.boxes_prefetched,
                loads ? "loaded into shared memory and discarded"
                      : "requested; the kernel may end before they arrive");
  out += text;
  if (row_count_ * row_bytes_ < all_bytes_) {
    std::snprintf(text, sizeof text,
                  "the budget of %" PRId64 " bytes leaves out %" PRIu64 " of %" PRIu64 "\n",
                  desc_.budget, all_bytes_ - row_count_ * row_bytes_, all_bytes_);
    out += text;
  }
  if (!box_kernel_)
    out +=
        "prefetches pieces of rows, because a tensor map needs a matrix whose pitch is a multiple "
        "of "
        "16 bytes\n";
  else if (row_kernel_)
    out += "runs with an address that is not a multiple of 16 use " +
           std::string(row_kernel_.entry->symbol) +
           ", which prefetches between the 16-byte boundaries of each row\n";
  return out;
}

}  // namespace tw
