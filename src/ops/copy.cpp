// SPDX-License-Identifier: Apache-2.0
#include "ops/copy.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/maps.hpp"

namespace tw {
namespace {

constexpr uint64_t kAligned = static_cast<uint64_t>(kCopyAlignment);
// Below this a row is too little for a bulk copy of its own, and plain loads do better.
constexpr int64_t kMinBulkRow = 512;
// From here on a row is worth an own box or bulk copy, whatever the order of the dimensions around.
constexpr int64_t kMaxPermuteRow = 64;
// Blocks of plain loads and stores on one SM, which holds 2,048 threads.
constexpr uint32_t kStridedBlocks = 4;
constexpr uint32_t kStridedUnitsOfThread = 4;

uint32_t bit(uint32_t method) {
  return 1u << method;
}

}  // namespace

Status CopyPlan::create(const std::shared_ptr<Device>& device, const CopyDesc& desc,
                        std::unique_ptr<Plan>* out) {
  CopyShape shape;
  TW_TRY(copy_shape(desc, &shape));
  const auto element = static_cast<uint32_t>(shape.element_bytes);
  TW_TRY(check_alignment("src_alignment", desc.src_alignment, element));
  TW_TRY(check_alignment("dst_alignment", desc.dst_alignment, element));
  std::unique_ptr<CopyPlan> plan(new CopyPlan(device, desc, shape));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

// `detail` is the maps' rank or the element's bytes, where the method has kernels for each.
Status CopyPlan::prepare_method(uint32_t method, uint32_t detail, uint32_t smem,
                                PreparedKernel* out) {
  const KernelRow* row = find_row(*device(), Family::copy, [&](const KernelRow& r) {
    const uint32_t serves = r.variant >> 8;
    return (r.variant & 0xff) == method && (serves == 0 || serves == detail);
  });
  return prepare_row(*device(), Family::copy, row, smem, out);
}

Status CopyPlan::prepare() {
  ring_ = ring_size(*device(), kCopyRingWarps, 0, desc_.stages, desc_.stage_bytes);
  const uint32_t smem = ring_.dynamic_smem_bytes();
  const bool promised = std::min(desc_.src_alignment, desc_.dst_alignment) >= kAligned;
  bool always = false;  // a method for whatever addresses the promise allows
  TW_TRY(prepare_permute());
  if (!permute_ && (desc_.methods & bit(kCopyBoxes))) {
    if (fill_boxes(shape_, ring_, &box_args_)) TW_TRY(prepare_boxes());
    always = promised && boxes_;
  }
  const bool long_rows = shape_.row_bytes >= kMinBulkRow || !(desc_.methods & bit(kCopyStrided));
  if (!always && !permute_ && (desc_.methods & bit(kCopyRows)) && long_rows) {
    const uint32_t warps = usable_sms(*device(), desc_.max_sms) * kCopyRingWarps;
    if (fill_rows(shape_, ring_, 0, warps, &row_args_)) {
      TW_TRY(prepare_method(kCopyRows, 0, smem, &rows_));
      row_args_ = row_args(promised_address(desc_.src_alignment));
      always = promised;
    }
  }
  if (!always && !permute_ && (desc_.methods & bit(kCopyShift)) && fill_shift(shape_, &shift_args_))
    TW_TRY(prepare_method(kCopyShift, 0, 0, &shift_));
  if (!always && (desc_.methods & bit(kCopyStrided)))
    TW_TRY(prepare_method(kCopyStrided, 0, 0, &strided_));
  if (!shape_.empty)
    strided_args_ =
        strided_args(promised_address(desc_.src_alignment), promised_address(desc_.dst_alignment));
  if (!boxes_ && !rows_ && !permute_ && !shift_ && !strided_)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the methods 0x%x serves this copy", desc_.methods);
  return {};
}

Status CopyPlan::prepare_permute() {
  if (!(desc_.methods & bit(kCopyPermute)) || shape_.row_bytes >= kMaxPermuteRow) return {};
  if (!fill_permute(shape_, &permute_args_)) return {};
  const u32 smem = permute_tables(permute_args_).total;
  if (smem > static_cast<uint32_t>(device()->info().max_dynamic_smem_bytes)) return {};
  fit_permute(promised_address(desc_.src_alignment) + static_cast<uint64_t>(shape_.src_offset),
              promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset),
              &permute_args_);
  return prepare_method(kCopyPermute, permute_args_.element_bytes, smem, &permute_);
}

Status CopyPlan::prepare_boxes() {
  TW_TRY(prepare_method(kCopyBoxes, box_args_.rank, ring_.dynamic_smem_bytes(), &boxes_));
  TensorMapDesc src, dst;
  describe_boxes(shape_, box_args_, &src, &dst);
  TW_TRY(encode_map(*device(), src, &box_args_.src_map));
  return encode_map(*device(), dst, &box_args_.dst_map);
}

const PreparedKernel& CopyPlan::choose(uint64_t src, uint64_t dst) const {
  const bool aligned = src % kAligned == 0 && dst % kAligned == 0;
  if (boxes_ && aligned) return boxes_;
  if (rows_ && src % kAligned == dst % kAligned) return rows_;
  if (permute_ && (src | dst) % permute_args_.element_bytes == 0) return permute_;
  // Plain units of 16 bytes need no realigning.
  const uint32_t unit = strided_unit(shape_, std::min(alignment_of(src), alignment_of(dst)));
  if (shift_ && (unit < 16 || !strided_)) return shift_;
  return strided_;
}

LaunchConfig CopyPlan::config(const PreparedKernel& kernel, uint64_t items,
                              uint32_t items_of_block) const {
  const uint64_t sms = usable_sms(*device(), desc_.max_sms);
  const uint64_t room = &kernel == &strided_ || &kernel == &shift_ ? sms * kStridedBlocks : sms;
  const uint64_t wanted = (items + items_of_block - 1) / items_of_block;
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, room));
  config.block[0] = static_cast<uint32_t>(kernel.row->threads);
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

LaunchConfig CopyPlan::box_config() const {
  return config(boxes_, box_args_.tiles, 1);
}
LaunchConfig CopyPlan::permute_config() const {
  // As many blocks an SM as its shared memory and registers hold.
  const auto room = static_cast<uint32_t>(device()->info().max_dynamic_smem_bytes);
  const uint32_t blocks = std::clamp(room / (permute_.dynamic_smem_bytes + 1024), 1u, 4u);
  LaunchConfig c = config(permute_, permute_args_.tiles, 1);
  const uint64_t most = uint64_t{usable_sms(*device(), desc_.max_sms)} * blocks;
  c.grid[0] = static_cast<uint32_t>(std::min<uint64_t>(most, permute_args_.tiles));
  return c;
}
LaunchConfig CopyPlan::row_config(const CopyRowArgs& args) const {
  return config(rows_, args.rows * args.chunks, args.stage_chunks);
}
LaunchConfig CopyPlan::strided_config(const CopyStridedArgs& args) const {
  return config(strided_, args.units, kCopyStridedThreads * kStridedUnitsOfThread);
}

LaunchConfig CopyPlan::shift_config() const {
  return config(shift_, shift_args_.items, kCopyShiftThreads * kStridedUnitsOfThread);
}

CopyShiftArgs CopyPlan::shift_args(uint64_t src, uint64_t dst) const {
  CopyShiftArgs args = shift_args_;
  args.src = src + static_cast<uint64_t>(shape_.src_offset);
  args.dst = dst + static_cast<uint64_t>(shape_.dst_offset);
  args.src_low = src + static_cast<uint64_t>(shape_.src_range.low);
  args.src_high = src + static_cast<uint64_t>(shape_.src_range.high);
  return args;
}

CopyRowArgs CopyPlan::row_args(uint64_t address) const {
  CopyRowArgs args;
  const uint32_t warps = usable_sms(*device(), desc_.max_sms) * kCopyRingWarps;
  fill_rows(shape_, ring_, static_cast<uint32_t>(address % kAligned), warps, &args);
  return args;
}

CopyStridedArgs CopyPlan::strided_args(uint64_t src, uint64_t dst) const {
  const uint32_t alignment = std::min(alignment_of(src), alignment_of(dst));
  if (strided_args_.unit_bytes == strided_unit(shape_, alignment)) return strided_args_;
  CopyStridedArgs args;
  fill_strided(shape_, alignment, &args);
  return args;
}

Status CopyPlan::run(Stream& stream, uint64_t src, uint64_t dst) const {
  if (shape_.empty) return {};
  const auto element = static_cast<uint32_t>(shape_.element_bytes);
  TW_TRY(check_address("src", src, std::max(desc_.src_alignment, element)));
  TW_TRY(check_address("dst", dst, std::max(desc_.dst_alignment, element)));
  TW_TRY(check_copy_disjoint(shape_, src, dst));
  const CopyShiftArgs shifted = shift_args(src, dst);
  src = shifted.src;
  dst = shifted.dst;
  const PreparedKernel& kernel = choose(src, dst);
  if (&kernel == &boxes_) {
    CopyBoxArgs args = box_args_;
    rebind_address(&args.src_map, src);
    rebind_address(&args.dst_map, dst);
    args.dst = dst;
    return stream.launch(*kernel.kernel, box_config(), &args, sizeof args);
  }
  if (&kernel == &shift_)
    return stream.launch(*kernel.kernel, shift_config(), &shifted, sizeof shifted);
  if (&kernel == &rows_) {
    CopyRowArgs args = row_args(src);
    args.src = src;
    args.dst = dst;
    return stream.launch(*kernel.kernel, row_config(args), &args, sizeof args);
  }
  if (&kernel == &permute_) {
    CopyPermuteArgs args = permute_args_;
    fit_permute(src, dst, &args);
    args.src = src;
    args.dst = dst;
    return stream.launch(*kernel.kernel, permute_config(), &args, sizeof args);
  }
  if (!strided_)
    return fail(Code::ERROR_MISALIGNED, {.argument = "src", .rule = "copy_methods"},
                "the only methods allowed need addresses that are multiples of %u bytes",
                static_cast<unsigned>(kAligned));
  CopyStridedArgs args = strided_args(src, dst);
  args.src = src;
  args.dst = dst;
  return stream.launch(*kernel.kernel, strided_config(args), &args, sizeof args);
}

}  // namespace tw
