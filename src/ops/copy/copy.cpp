// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/common/maps.hpp"

namespace tw {
namespace {

constexpr uint64_t kAligned = static_cast<uint64_t>(kCopyAlignment);
constexpr uint32_t kFillBlocksOfSm = 8;
constexpr uint32_t kStridedUnitsOfThread = 4;

uint32_t bit(uint32_t method) {
  return 1u << method;
}

// Fills what every method's arguments have.
template <class Args>
Args with_addresses(Args args, const CopyDesc& desc, uint64_t src, uint64_t dst) {
  args.src = src;
  args.dst = dst;
  args.src_policy = cache_policy(desc.src_cache);
  args.dst_policy = cache_policy(desc.dst_cache);
  return args;
}

// `shape` becomes what lies inside a window, and `outside`, unless it is nullptr, the rest.
Status read_desc(const CopyDesc& desc, CopyShape* shape, ByteRange* dst_range,
                 std::vector<CopyShape>* outside) {
  TW_TRY(copy_shape(desc, shape));
  const auto element = static_cast<uint32_t>(shape->element_bytes);
  TW_TRY(check_alignment("src_alignment", desc.src_alignment, element));
  TW_TRY(check_alignment("dst_alignment", desc.dst_alignment, element));
  TW_TRY(check_cache("src_cache", desc.src_cache));
  TW_TRY(check_cache("dst_cache", desc.dst_cache));
  TW_TRY(check_window(desc));
  *dst_range = shape->dst_range;
  return has_window(desc) && !shape->empty ? split_window(desc, shape, outside) : Status();
}

}  // namespace

Status CopyPlan::check(const Device&, const CopyDesc& desc) {
  CopyShape shape;
  ByteRange dst_range;
  return read_desc(desc, &shape, &dst_range, nullptr);
}

Status CopyPlan::create(const std::shared_ptr<Device>& device, const CopyDesc& desc,
                        std::unique_ptr<Plan>* out) {
  CopyShape shape;
  ByteRange dst_range;
  std::vector<CopyShape> outside;
  TW_TRY(read_desc(desc, &shape, &dst_range, &outside));
  std::unique_ptr<CopyPlan> plan(new CopyPlan(device, desc, shape));
  plan->outside_ = std::move(outside);
  plan->dst_range_ = dst_range;
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status CopyPlan::prepare() {
  ring_ = ring_size(*device(), kCopyRingWarps, 0, desc_.stages, desc_.stage_bytes);
  if (!shape_.empty) find_methods();
  const uint32_t reachable = reachable_methods();
  if (!shape_.empty && reachable == 0)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the methods 0x%x serves this copy", desc_.methods);
  for (uint32_t method = 1; method < kCopyMethods; ++method)
    if ((reachable & bit(method)) && method != kCopyDriver) TW_TRY(prepare_method(method));
  if (outside_.empty()) return {};
  const KernelRow* row = find_row(
      *device(), Family::copy, [](const KernelRow& r) { return (r.variant & 0xff) == kCopyFill; });
  return prepare_row(*device(), Family::copy, row, 0, &fill_);
}

uint32_t CopyPlan::reachable_methods() const {
  const auto step = [&](uint32_t promised) {
    return std::clamp<uint32_t>(promised, static_cast<uint32_t>(shape_.element_bytes), kAligned);
  };
  uint32_t reachable = 0;
  if (shape_.empty) return reachable;
  for (uint64_t src = 0; src < kAligned; src += step(desc_.src_alignment))
    for (uint64_t dst = 0; dst < kAligned; dst += step(desc_.dst_alignment))
      reachable |= bit(choose(src + static_cast<uint64_t>(shape_.src_offset),
                              dst + static_cast<uint64_t>(shape_.dst_offset)));
  return reachable & ~bit(0);
}

// What KernelRow::variant has above the method, and the shared memory of a block.
CopyPlan::RowChoice CopyPlan::row_choice(uint32_t method) const {
  switch (method) {
    case kCopyBoxes:
      return {box_args_.rank, ring_.dynamic_smem_bytes()};
    case kCopyRows:
      return {0, ring_.dynamic_smem_bytes()};
    case kCopyPermute:
      return {permute_args_.element_bytes, permute_tables(permute_args_).total};
    case kCopyTranspose:
      return {transpose_args_.element_bytes | (small() ? 1u << 8 : 0), 0};
    case kCopyTransposePlain:
      return {plain_transpose_args_.element_bytes, 0};
    case kCopyInterleave:
      return {interleave_args_.element_bytes | interleave_args_.planes << 8 |
                  (to_planes_ ? kToPlanes << 8 : 0),
              0};
    case kCopyPieces:
      return {small() ? 1u : 4u, 0};
    case kCopyShift:  // whose loads are two lanes' each
      return {small() ? 1u : 2u, 0};
    default:
      return {0, 0};
  }
}

Status CopyPlan::prepare_method(uint32_t method) {
  RowChoice choice = row_choice(method);
  const KernelRow* row = find_row(*device(), Family::copy, [&](const KernelRow& r) {
    // A host row serves any element and any number of planes.
    const uint32_t counts = r.feature != feature::host  ? ~0u
                            : method == kCopyInterleave ? kToPlanes << 8
                            : method == kCopyTranspose  ? 1u << 8
                                                        : 0u;
    return (r.variant & 0xff) == method && ((r.variant >> 8 ^ choice.detail) & counts) == 0;
  });
  if (row != nullptr && (method == kCopyTranspose || method == kCopyTransposePlain)) {
    CopyTransposeArgs& args = method == kCopyTranspose ? transpose_args_ : plain_transpose_args_;
    fill_transpose_tiles(static_cast<uint32_t>(row->tile[0]), static_cast<uint32_t>(row->tile[1]),
                         &args);
    if (method == kCopyTranspose && choice.detail >> 8 == 0)  // its tile lies in shared memory
      choice.smem = args.tile_a * args.tile_b * args.unit_elements * 16;
  }
  TW_TRY(prepare_row(*device(), Family::copy, row, choice.smem, &kernels_[method]));
  if (method != kCopyBoxes) return {};
  TensorMapDesc src, dst;
  describe_boxes(shape_, box_args_, &src, &dst);
  TW_TRY(encode_map(*device(), src, &box_args_.src_map));
  return encode_map(*device(), dst, &box_args_.dst_map);
}

LaunchConfig CopyPlan::config(uint32_t method, uint64_t items, uint32_t items_of_block,
                              uint32_t blocks_of_sm) const {
  const PreparedKernel& kernel = kernels_[method];
  const uint64_t most = most_blocks(*device(), desc_.max_sms, blocks_of_sm);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((items + items_of_block - 1) / items_of_block, 1, most));
  config.block[0] = static_cast<uint32_t>(kernel.row->threads);
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  // These wait for the grid in front themselves.
  config.programmatic =
      small() && (method == kCopyPieces || method == kCopyShift || method == kCopyTranspose);
  return config;
}

LaunchConfig CopyPlan::box_config() const {
  return config(kCopyBoxes, box_args_.tiles, 1, 1);
}

LaunchConfig CopyPlan::row_config(const CopyRowArgs& args) const {
  return config(kCopyRows, args.rows * args.chunks, args.stage_chunks, 1);
}

LaunchConfig CopyPlan::permute_config() const {
  // As many blocks an SM as its shared memory and registers hold.
  const auto room = static_cast<uint32_t>(device()->info().max_dynamic_smem_bytes);
  const uint32_t smem = kernels_[kCopyPermute].dynamic_smem_bytes;
  return config(kCopyPermute, permute_args_.tiles, 1, std::clamp(room / (smem + 1024), 1u, 4u));
}

// Kernels without a ring do as well with a block for each piece of work as with fewer that go
// round, and the hardware spreads them better; only a bound on the SMs bounds the blocks.
LaunchConfig CopyPlan::piece_config(uint32_t method, const CopyPieceArgs& args) const {
  const uint32_t flight = kernels_[method].row->variant >> 8;  // 0: a host row
  const uint32_t lanes = method == kCopyShift ? 31 : 32;
  return config(method, args.items, kPieceThreads / 32 * lanes * std::max(flight, 1u), 0);
}

LaunchConfig CopyPlan::transpose_config(uint32_t method) const {
  const uint64_t tiles =
      method == kCopyTranspose ? transpose_args_.tiles : plain_transpose_args_.tiles;
  return config(method, tiles, 1, 0);
}

LaunchConfig CopyPlan::interleave_config() const {
  return config(kCopyInterleave, interleave_args_.warps,
                interleave_threads(interleave_args_.planes) / 32, 0);
}

LaunchConfig CopyPlan::strided_config(const CopyStridedArgs& args) const {
  return config(kCopyStrided, args.units, kCopyStridedThreads * kStridedUnitsOfThread, 0);
}

// What hangs over the source's tensor, a launch for each box of the destination.
Status CopyPlan::run_fills(Stream& stream, uint64_t src, uint64_t dst) const {
  for (const CopyShape& box : outside_) TW_TRY(check_fill_disjoint(shape_, box, src, dst));
  for (const CopyShape& box : outside_) {
    const CopyFillArgs args = fill_args(desc_, box, dst);
    const uint64_t threads = uint64_t{kCopyStridedThreads} * kStridedUnitsOfThread;
    const uint64_t most = most_blocks(*device(), desc_.max_sms, kFillBlocksOfSm);
    LaunchConfig config;
    config.grid[0] = static_cast<uint32_t>(
        std::clamp<uint64_t>((args.place.units + threads - 1) / threads, 1, most));
    config.block[0] = kCopyStridedThreads;
    TW_TRY(stream.launch(*fill_.kernel, config, &args, sizeof args));
  }
  return {};
}

CopyPieceArgs CopyPlan::piece_args(uint32_t method, uint64_t src, uint64_t dst) const {
  CopyPieceArgs args = method == kCopyShift ? shift_args_ : piece_args_;
  const auto misalignment = static_cast<uint32_t>(dst % kPieceSector);
  if (misalignment != piece_misalignment_)
    fill_pieces(shape_, method == kCopyShift, misalignment, &args);
  const uint64_t base = src - static_cast<uint64_t>(shape_.src_offset);
  args.src_low = base + static_cast<uint64_t>(shape_.src_range.low);
  args.src_high = base + static_cast<uint64_t>(shape_.src_range.high);
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

Status CopyPlan::check_memory(uint64_t src, uint64_t dst) const {
  if (!device()->checks_memory()) return {};
  if (!shape_.empty) TW_TRY(check_memory_range(*device(), "src", src, shape_.src_range));
  ByteRange written = dst_range_;
  // The padding behind the last row, which may be written too, ends at a multiple of 16.
  if (desc_.padding_free)
    written.high += static_cast<int64_t>(-(dst + static_cast<uint64_t>(written.high)) % kAligned);
  return check_memory_range(*device(), "dst", dst, written);
}

Status CopyPlan::run(Stream& stream, uint64_t src, uint64_t dst) const {
  if (shape_.empty && outside_.empty()) return {};
  const auto element = static_cast<uint32_t>(dtype_bytes(desc_.dtype));
  if (!shape_.empty) TW_TRY(check_address("src", src, element, desc_.src_alignment));
  TW_TRY(check_address("dst", dst, element, desc_.dst_alignment));
  if (!shape_.empty) TW_TRY(check_copy_disjoint(shape_, src, dst));
  TW_TRY(check_memory(src, dst));
  if (!outside_.empty()) TW_TRY(run_fills(stream, src, dst));
  if (shape_.empty) return {};
  src += static_cast<uint64_t>(shape_.src_offset);
  dst += static_cast<uint64_t>(shape_.dst_offset);
  const uint32_t method = choose(src, dst);
  const auto launch = [&](const LaunchConfig& config, const auto& plain) {
    const auto args = with_addresses(plain, desc_, src, dst);
    return stream.launch(*kernels_[method].kernel, config, &args, sizeof args);
  };
  switch (method) {
    case kCopyDriver:
      return stream.copy_on_device(dst, src, static_cast<uint64_t>(shape_.row_bytes));
    case kCopyBoxes: {
      CopyBoxArgs args = box_args_;
      rebind_address(&args.src_map, src);
      rebind_address(&args.dst_map, dst);
      return launch(box_config(), args);
    }
    case kCopyRows: {
      const CopyRowArgs args = row_args(src);
      return launch(row_config(args), args);
    }
    case kCopyPermute: {
      CopyPermuteArgs args = permute_args_;
      fit_permute(src, dst, &args);
      return launch(permute_config(), args);
    }
    case kCopyTranspose:
      return launch(transpose_config(method), transpose_args_);
    case kCopyTransposePlain:
      return launch(transpose_config(method), plain_transpose_args_);
    case kCopyInterleave:
      return launch(interleave_config(), interleave_args_);
    case kCopyPieces:
    case kCopyShift: {
      const CopyPieceArgs args = piece_args(method, src, dst);
      return launch(piece_config(method, args), args);
    }
    case kCopyStrided: {
      const CopyStridedArgs args = strided_args(src, dst);
      return launch(strided_config(args), args);
    }
    default:
      return fail(Code::ERROR_MISALIGNED, {.argument = "src", .rule = "copy_methods"},
                  "the only methods allowed need addresses that are multiples of %u bytes",
                  static_cast<unsigned>(kAligned));
  }
}

}  // namespace tw
