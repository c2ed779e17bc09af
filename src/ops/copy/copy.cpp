// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/checked.hpp"
#include "ops/common/maps.hpp"

namespace tw {
namespace {

constexpr uint64_t kAligned = static_cast<uint64_t>(kCopyAlignment);
constexpr uint32_t kFillBlocksPerSm = 8;
constexpr uint32_t kStridedUnitsPerThread = 4;

uint32_t bit(uint32_t method) {
  return 1u << method;
}

template <class Args>
Args with_addresses(Args args, const CopyDesc& desc, uint64_t src, uint64_t dst) {
  args.src = src;
  args.dst = dst;
  args.src_policy = cache_policy(desc.src_cache);
  args.dst_policy = cache_policy(desc.dst_cache);
  return args;
}

// Checks a description. For a window, `shape` becomes the part inside the source's tensor. The
// remaining regions are appended to `fills` unless it is nullptr.
Status read_desc(const CopyDesc& desc, CopyShape* shape, ByteRange* dst_range,
                 std::vector<CopyShape>* fills) {
  TW_TRY(copy_shape(desc, shape));
  const auto element = static_cast<uint32_t>(shape->element_bytes);
  TW_TRY(check_alignment("src_alignment", desc.src_alignment, element));
  TW_TRY(check_alignment("dst_alignment", desc.dst_alignment, element));
  TW_TRY(check_cache("src_cache", desc.src_cache));
  TW_TRY(check_cache("dst_cache", desc.dst_cache));
  TW_TRY(check_window(desc));
  *dst_range = shape->dst_range;
  return has_window(desc) && !shape->empty ? split_window(desc, shape, fills) : Status();
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
  std::vector<CopyShape> fills;
  TW_TRY(read_desc(desc, &shape, &dst_range, &fills));
  std::unique_ptr<CopyPlan> plan(new CopyPlan(device, desc, shape));
  plan->fills_ = std::move(fills);
  plan->dst_range_ = dst_range;
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status CopyPlan::prepare() {
  pipeline_ = pipeline_size(*device(), kCopyPipelineWarps, 0, desc_.stages, desc_.stage_bytes);
  if (!shape_.empty) methods_.find_methods(*device(), desc_, shape_, pipeline_);
  const uint32_t reachable = methods_.reachable_methods(desc_, shape_);
  if (!shape_.empty && reachable == 0)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
                "none of the allowed methods 0x%x supports this copy", desc_.methods);
  for (uint32_t method = 1; method < kCopyMethods; ++method)
    if ((reachable & bit(method)) && method != kCopyDriver) TW_TRY(prepare_method(method));
  if (fills_.empty()) return {};
  const KernelEntry* entry = find_entry(*device(), Family::copy, [](const KernelEntry& candidate) {
    return (candidate.variant & 0xff) == kCopyFill;
  });
  return prepare_entry(*device(), Family::copy, entry, 0, &fill_);
}

CopyPlan::EntryNeeds CopyPlan::entry_needs(uint32_t method) const {
  switch (method) {
    case kCopyBoxes:
      return {methods_.boxes.rank, pipeline_.dynamic_smem_bytes()};
    case kCopyRows:
      return {0, pipeline_.dynamic_smem_bytes()};
    case kCopyPermute:
      return {methods_.permute.unit_bytes, permute_tables(methods_.permute).total};
    case kCopyTranspose:
      return {methods_.transpose.element_bytes | (small() ? 1u << 8 : 0), 0};
    case kCopyTransposePlain:
      return {methods_.plain_transpose.element_bytes, 0};
    case kCopyInterleave:
      return {methods_.interleave.element_bytes | methods_.interleave.planes << 8 |
                  (methods_.to_planes ? kToPlanes << 8 : 0),
              0};
    case kCopyPieces:
      return {small() ? 1u : 4u, 0};
    case kCopyShift:  // needs two loads per piece
      return {small() ? 1u : 2u, 0};
    default:
      return {0, 0};
  }
}

Status CopyPlan::prepare_method(uint32_t method) {
  EntryNeeds needs = entry_needs(method);
  const KernelEntry* entry = find_entry(*device(), Family::copy, [&](const KernelEntry& candidate) {
    // A host entry serves any element size and any number of planes, so only these bits count.
    const uint32_t compared = candidate.feature != feature::host ? ~0u
                              : method == kCopyInterleave        ? kToPlanes << 8
                              : method == kCopyTranspose         ? 1u << 8
                                                                 : 0u;
    return (candidate.variant & 0xff) == method &&
           ((candidate.variant >> 8 ^ needs.detail) & compared) == 0;
  });
  if (entry != nullptr && (method == kCopyTranspose || method == kCopyTransposePlain)) {
    CopyTransposeArgs& args =
        method == kCopyTranspose ? methods_.transpose : methods_.plain_transpose;
    fill_transpose_tiles(static_cast<uint32_t>(entry->tile[0]),
                         static_cast<uint32_t>(entry->tile[1]), &args);
    // Only the one-warp kernel, for small copies, keeps its tile in registers.
    if (method == kCopyTranspose && needs.detail >> 8 == 0)
      needs.smem = args.tile_a * args.tile_b * args.unit_elements * 16;
  }
  TW_TRY(prepare_entry(*device(), Family::copy, entry, needs.smem, &kernels_[method]));
  if (method != kCopyBoxes) return {};
  TensorMapDesc src, dst;
  describe_boxes(shape_, methods_.boxes, &src, &dst);
  TW_TRY(encode_map(*device(), src, &methods_.boxes.src_map));
  return encode_map(*device(), dst, &methods_.boxes.dst_map);
}

LaunchConfig CopyPlan::config(uint32_t method, uint64_t items, uint32_t items_per_block,
                              uint32_t blocks_per_sm) const {
  const PreparedKernel& kernel = kernels_[method];
  const uint64_t maximum = max_blocks(*device(), desc_.max_sms, blocks_per_sm);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((items + items_per_block - 1) / items_per_block, 1, maximum));
  config.block[0] = static_cast<uint32_t>(kernel.entry->threads);
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  // These kernels wait for the predecessor grid themselves.
  config.programmatic =
      small() && (method == kCopyPieces || method == kCopyShift || method == kCopyTranspose);
  return config;
}

LaunchConfig CopyPlan::box_config() const {
  return config(kCopyBoxes, methods_.boxes.tiles, 1, 1);
}

LaunchConfig CopyPlan::row_config(const CopyRowArgs& args) const {
  return config(kCopyRows, args.rows * args.chunks, args.stage_chunks, 1);
}

LaunchConfig CopyPlan::permute_config() const {
  // As many blocks per SM as its shared memory and registers hold.
  const auto available = static_cast<uint32_t>(device()->info().max_dynamic_smem_bytes);
  const uint32_t smem = kernels_[kCopyPermute].dynamic_smem_bytes;
  return config(kCopyPermute, methods_.permute.tiles, 1,
                std::clamp(available / (smem + 1024), 1u, 4u));
}

// The following kernels have no pipeline. Unless max_sms limits the grid, each block ends after one
// iteration: that is as fast as a persistent grid, and the hardware balances the blocks better.
LaunchConfig CopyPlan::piece_config(uint32_t method, const CopyPieceArgs& args) const {
  const uint32_t flight = kernels_[method].entry->variant >> 8;  // 0: a host entry
  // Lanes that store: with kCopyShift the last lane only loads, for its neighbor.
  const uint32_t lanes = method == kCopyShift ? 31 : 32;
  return config(method, args.items, kPieceThreads / 32 * lanes * std::max(flight, 1u), 0);
}

LaunchConfig CopyPlan::transpose_config(uint32_t method) const {
  const uint64_t tiles =
      method == kCopyTranspose ? methods_.transpose.tiles : methods_.plain_transpose.tiles;
  return config(method, tiles, 1, 0);
}

LaunchConfig CopyPlan::interleave_config() const {
  return config(kCopyInterleave, methods_.interleave.warps,
                interleave_threads(methods_.interleave.planes) / 32, 0);
}

LaunchConfig CopyPlan::strided_config(const CopyStridedArgs& args) const {
  return config(kCopyStrided, args.units, kCopyStridedThreads * kStridedUnitsPerThread, 0);
}

// Fills the parts of the destination that the window does not supply, with one launch per region.
Status CopyPlan::run_fills(Stream& stream, uint64_t src, uint64_t dst) const {
  for (const CopyShape& region : fills_) TW_TRY(check_fill_disjoint(shape_, region, src, dst));
  for (const CopyShape& region : fills_) {
    const CopyFillArgs args = fill_args(desc_, region, dst);
    const uint64_t threads = uint64_t{kCopyStridedThreads} * kStridedUnitsPerThread;
    const uint64_t maximum = max_blocks(*device(), desc_.max_sms, kFillBlocksPerSm);
    LaunchConfig config;
    config.grid[0] = static_cast<uint32_t>(
        std::clamp<uint64_t>((args.place.units + threads - 1) / threads, 1, maximum));
    config.block[0] = kCopyStridedThreads;
    TW_TRY(stream.launch(*fill_.kernel, config, &args, sizeof args));
  }
  return {};
}

CopyPieceArgs CopyPlan::piece_args(uint32_t method, uint64_t src, uint64_t dst) const {
  CopyPieceArgs args = method == kCopyShift ? methods_.shift : methods_.pieces;
  const auto misalignment = static_cast<uint32_t>(dst % kPieceSector);
  if (misalignment != methods_.piece_misalignment)
    fill_pieces(shape_, method == kCopyShift, misalignment, &args);
  const uint64_t base = src - static_cast<uint64_t>(shape_.src_offset);
  args.src_low = base + static_cast<uint64_t>(shape_.src_range.low);
  args.src_high = base + static_cast<uint64_t>(shape_.src_range.high);
  return args;
}

CopyRowArgs CopyPlan::row_args(uint64_t address) const {
  CopyRowArgs args;
  const uint32_t warps = usable_sms(*device(), desc_.max_sms) * kCopyPipelineWarps;
  fill_rows(shape_, pipeline_, static_cast<uint32_t>(address % kAligned), warps, &args);
  return args;
}

CopyStridedArgs CopyPlan::strided_args(uint64_t src, uint64_t dst) const {
  const uint32_t alignment = std::min(alignment_of(src), alignment_of(dst));
  if (methods_.strided.unit_bytes == strided_unit(shape_, alignment)) return methods_.strided;
  CopyStridedArgs args;
  fill_strided(shape_, alignment, &args);
  return args;
}

Status CopyPlan::check_memory(uint64_t src, uint64_t dst) const {
  if (!device()->checks_memory()) return {};
  if (!shape_.empty) TW_TRY(check_memory_range(*device(), "src", src, shape_.src_range));
  ByteRange written = dst_range_;
  // With padding_writable the kernel may also write up to the next multiple of 16 after the last
  // row.
  if (desc_.padding_writable)
    written.high += static_cast<int64_t>(-(dst + static_cast<uint64_t>(written.high)) % kAligned);
  return check_memory_range(*device(), "dst", dst, written);
}

Status CopyPlan::run(Stream& stream, uint64_t src, uint64_t dst) const {
  if (shape_.empty && fills_.empty()) return {};
  const auto element = static_cast<uint32_t>(dtype_bytes(desc_.dtype));
  if (!shape_.empty) TW_TRY(check_address("src", src, element, desc_.src_alignment));
  TW_TRY(check_address("dst", dst, element, desc_.dst_alignment));
  if (!shape_.empty) TW_TRY(check_copy_disjoint(shape_, src, dst));
  TW_TRY(check_memory(src, dst));
  if (!fills_.empty()) TW_TRY(run_fills(stream, src, dst));
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
      CopyBoxArgs args = methods_.boxes;
      rebind_address(&args.src_map, src);
      rebind_address(&args.dst_map, dst);
      return launch(box_config(), args);
    }
    case kCopyRows: {
      const CopyRowArgs args = row_args(src);
      return launch(row_config(args), args);
    }
    case kCopyPermute: {
      CopyPermuteArgs args = methods_.permute;
      fit_permute(src, dst, &args);
      return launch(permute_config(), args);
    }
    case kCopyTranspose:
      return launch(transpose_config(method), methods_.transpose);
    case kCopyTransposePlain:
      return launch(transpose_config(method), methods_.plain_transpose);
    case kCopyInterleave:
      return launch(interleave_config(), methods_.interleave);
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
                  "the only allowed methods need addresses that are multiples of %u bytes",
                  static_cast<unsigned>(kAligned));
  }
}

namespace {

void set_config(const LaunchConfig& config, PlanInfo* info) {
  for (int i = 0; i < 3; ++i) {
    info->grid[i] = config.grid[i];
    info->block[i] = config.block[i];
    info->cluster[i] = config.cluster[i];
  }
  info->dynamic_smem_bytes = config.dynamic_smem_bytes;
}

// Bytes that are read at least once. Along a dimension of stride 0 the same bytes are read again.
uint64_t distinct_sources(const CopyShape& shape) {
  int64_t bytes = shape.row_bytes;
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.src_stride[d] != 0) bytes *= shape.extent[d];
  return static_cast<uint64_t>(bytes);
}

}  // namespace

PlanInfo CopyPlan::info() const {
  PlanInfo info;
  info.op = Op::copy;
  const uint64_t src =
      promised_address(desc_.src_alignment) + static_cast<uint64_t>(shape_.src_offset);
  const uint64_t dst =
      promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset);
  for (const CopyShape& region : fills_)
    info.bytes_written += static_cast<uint64_t>(region.elements * region.element_bytes);
  if (shape_.empty) {
    if (fill_) info.kernel = fill_.entry->symbol;
    return info;
  }
  const uint32_t method = choose(src, dst);
  const auto elements = [&](uint32_t bytes) {
    return std::max(1u, bytes / static_cast<uint32_t>(shape_.element_bytes));
  };
  info.bytes_read = distinct_sources(shape_);
  info.bytes_written += static_cast<uint64_t>(shape_.elements * shape_.element_bytes);
  if (method == kCopyDriver) {
    const bool cuda = device()->info().kind == DeviceKind::cuda;
    info.kernel = cuda ? "cuMemcpyDtoDAsync" : "memcpy";
    for (int i = 0; i < 3; ++i) info.grid[i] = info.block[i] = info.cluster[i] = 1;
    return info;
  }
  if (!kernels_[method]) return info;
  info.kernel = kernels_[method].entry->symbol;
  info.tile[0] = 1;
  switch (method) {
    case kCopyBoxes:
      set_config(box_config(), &info);
      info.tile[1] = elements(methods_.boxes.box[0] * methods_.boxes.element_bytes);
      info.tile[0] =
          methods_.boxes.box_bytes / (methods_.boxes.box[0] * methods_.boxes.element_bytes);
      info.stages = methods_.boxes.stages;
      info.boxes_loaded = info.boxes_stored = methods_.boxes.tiles;
      break;
    case kCopyRows: {
      const CopyRowArgs args = row_args(src);
      set_config(row_config(args), &info);
      info.tile[0] = args.stage_chunks;
      info.tile[1] = elements(args.chunk_bytes);
      info.stages = args.stages;
      info.boxes_loaded = info.boxes_stored = args.rows * args.chunks;
      break;
    }
    case kCopyPermute:
      set_config(permute_config(), &info);
      info.tile[0] = methods_.permute.src_lines.full;
      info.tile[1] = elements(methods_.permute.src_line_bytes.full);
      info.stages = kPermuteStages;
      break;
    case kCopyTranspose:
    case kCopyTransposePlain: {
      const CopyTransposeArgs& args =
          method == kCopyTranspose ? methods_.transpose : methods_.plain_transpose;
      set_config(transpose_config(method), &info);
      info.tile[0] = args.tile_b * args.unit_elements;
      info.tile[1] = args.tile_a * args.unit_elements;
      break;
    }
    case kCopyInterleave:
      set_config(interleave_config(), &info);
      info.tile[0] = methods_.interleave.planes;
      info.tile[1] = elements(16);
      break;
    case kCopyPieces:
    case kCopyShift:
      set_config(piece_config(method, piece_args(method, src, dst)), &info);
      info.tile[1] = elements(16);
      break;
    default: {
      const CopyStridedArgs args = strided_args(src, dst);
      set_config(strided_config(args), &info);
      info.tile[1] = elements(args.unit_bytes);
    }
  }
  return info;
}

std::string CopyPlan::reason(uint32_t method) const {
  char text[320] = "";
  switch (method) {
    case kCopyDriver:
      return "one contiguous row: the driver's own copy, which a capture records as a copy node\n";
    case kCopyBoxes:
      if (methods_.boxes.tail_bytes == 0) return "rows move as TMA boxes\n";
      std::snprintf(text, sizeof text,
                    "rows move as TMA boxes; ordinary stores write the last %u bytes of each, "
                    "because a TMA store writes whole units of 16 bytes\n",
                    methods_.boxes.tail_bytes);
      return text;
    case kCopyRows:
      return "rows move as bulk copies: a tensor map needs several rows, addresses that are "
             "multiples of 16, strides that are not negative and at most five dimensions\n";
    case kCopyPermute:
      std::snprintf(
          text, sizeof text,
          "dimensions change their order: tiles of %u lines of %u bytes of the source and %u "
          "lines of %u bytes of the destination, loaded %u and stored %u bytes at once\n",
          methods_.permute.src_lines.full, methods_.permute.src_line_bytes.full,
          methods_.permute.dst_lines.full, methods_.permute.dst_line_bytes.full,
          methods_.permute.load_bytes, methods_.permute.store_bytes);
      return text;
    case kCopyTranspose:
      std::snprintf(text, sizeof text,
                    "a transpose in registers, in squares of 16-byte vectors, tiles of %u source "
                    "by %u destination bytes\n",
                    methods_.transpose.tile_a * 16, methods_.transpose.tile_b * 16);
      return text;
    case kCopyTransposePlain:
      return "a transpose with an address, pitch or extent that is not a multiple of 16 bytes: "
             "element by element through shared memory\n";
    case kCopyInterleave:
      std::snprintf(text, sizeof text,
                    "%u planes are %s in registers, 16 bytes of each per thread\n",
                    methods_.interleave.planes, methods_.to_planes ? "separated" : "interleaved");
      return text;
    case kCopyPieces:
      return "rows move as 16-byte pieces by ordinary loads and stores, which are faster than TMA "
             "here\n";
    case kCopyShift:
      return "source and destination are misaligned relative to each other: 16-byte pieces are "
             "assembled in registers from aligned loads\n";
    default:
      return "no 32 bytes are contiguous both in the source and in the destination, and no tile "
             "suits both orders: element by element\n";
  }
}

std::string CopyPlan::window_note() const {
  int64_t elements = 0;
  for (const CopyShape& region : fills_) elements += region.elements;
  char text[256];
  std::snprintf(text, sizeof text,
                "%" PRId64
                " elements are outside the source's tensor: filled with %s by %s, with one launch "
                "for each of %zu regions\n",
                elements, desc_.fill == OobFill::nan ? "NaN (0x7ff7 in every 16 bits)" : "zeros",
                fill_.entry->symbol, fills_.size());
  return text;
}

std::string CopyPlan::explain() const {
  const PlanInfo i = info();
  char text[512];
  std::string out = "copy of " + std::string(dtype_name(desc_.dtype)) + " [";
  for (int32_t d = 0; d < desc_.rank; ++d) {
    if (d != 0) out += ", ";
    out += std::to_string(desc_.shape[d]);
  }
  if (shape_.empty && fills_.empty()) return out + "]: empty, nothing runs\n";
  if (shape_.empty) return out + "]: all of it outside the source's tensor\n" + window_note();
  std::snprintf(text, sizeof text,
                "], %" PRIu64 " bytes: after merging, %" PRId64 " rows of %" PRId64
                " contiguous bytes in %d dimensions\n"
                "kernel %s: %u blocks of %u threads, tile %ux%u elements, %u stages, %u bytes of "
                "shared memory\n%" PRIu64 " boxes loaded, %" PRIu64 " stored\n",
                i.bytes_written, shape_.rows, shape_.row_bytes, shape_.rank, i.kernel, i.grid[0],
                i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes, i.boxes_loaded,
                i.boxes_stored);
  out += text;
  const uint32_t method =
      choose(promised_address(desc_.src_alignment) + static_cast<uint64_t>(shape_.src_offset),
             promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset));
  out += reason(method);
  if (!fills_.empty()) out += window_note();
  for (uint32_t other = 1; other < kCopyMethods; ++other)
    if (other != method && kernels_[other])
      out += "runs with other addresses modulo 16 may use " +
             std::string(kernels_[other].entry->symbol) +
             ": promise src_alignment and dst_alignment to avoid it\n";
  return out;
}

}  // namespace tw
