// SPDX-License-Identifier: Apache-2.0
// Choices as text, and the error for each reason why a choice cannot serve a problem.
#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/checked.hpp"
#include "ops/gemm/select/gemm_select.hpp"
#include "ops/gemm/select/gemm_shares.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

namespace {

// "bf16 to f32", or "f8e4m3 by f8e5m2 to f32" if A and B differ.
std::string types(DType a, DType b, DType d) {
  const auto name = [](DType type) { return type == DType{} ? "any type" : dtype_name(type); };
  std::string text = name(a);
  if (b != a && b != DType{}) text += std::string(" by ") + name(b);
  return text + " to " + name(d);
}

std::string entry_types(const KernelEntry& entry) {
  if (entry.feature == feature::host)
    return (entry.variant & kGemmNarrow) != 0 ? "8-bit types and tf32" : "bf16 and f16";
  return types(entry.dtypes[0], entry.dtypes[2], entry.dtypes[1]);
}

}  // namespace

std::string gemm_choice_text(const GemmChoice& choice) {
  std::string text = choice.entry->symbol;
  if (choice.divides_k_among_ctas()) text += "/" + std::to_string(choice.split);
  const auto [m, n] = choice.cluster_shape;
  if (m * n > 1) text += "/" + std::to_string(m) + "x" + std::to_string(n);
  if (choice.width != 0) text += "/w" + std::to_string(choice.width);
  return text;
}

namespace {

// Removes the part of *text before the next slash, and the slash, and returns the part.
std::string_view next_part(std::string_view* text) {
  const size_t slash = text->find('/');
  const std::string_view part = text->substr(0, slash);
  *text = slash == text->npos ? "" : text->substr(slash + 1);
  return part;
}

// Reads "<m>x<n>" of a cluster of several CTAs. Returns false if there is no such cluster.
bool parse_cluster(std::string_view part, GemmChoice* choice) {
  for (const auto& shape : kGemmClusterShapes) {
    if (shape[0] * shape[1] == 1) continue;
    if (part != std::to_string(shape[0]) + "x" + std::to_string(shape[1])) continue;
    std::copy_n(shape, 2, choice->cluster_shape);
    return true;
  }
  return false;
}

// Reads "w<columns>". Returns false if the tiles of the choice cannot have that width.
bool parse_width(std::string_view part, GemmChoice* choice) {
  for (const i32 width : kGemmWidths) {
    if (part != "w" + std::to_string(width)) continue;
    choice->width = static_cast<uint16_t>(width);
    return gemm_width_is_possible(*choice);
  }
  return false;
}

// Reads what follows the factor of a stream-K choice: "<m>x<n>", "w<columns>", or both.
bool parse_stream_k(std::string_view rest, bool ends_in_slash, GemmChoice* choice) {
  std::string_view part = next_part(&rest);
  if (choice->takes_any_cluster() && parse_cluster(part, choice)) part = next_part(&rest);
  if (!part.empty() && parse_width(part, choice)) part = next_part(&rest);
  return part.empty() && rest.empty() && !ends_in_slash;
}

}  // namespace

Status parse_gemm_choice(const char* argument, const char* text, GemmChoice* out) {
  const std::string_view whole = text;
  const size_t slash = whole.find('/');
  const std::string_view symbol = whole.substr(0, slash);
  const auto refuse = [&](Code code, const char* why) {
    return fail(code, {.argument = argument, .rule = "candidate_text"}, "%s is \"%.120s\": %s",
                argument, text, why);
  };
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if (symbol != entry.symbol || (entry.variant & kGemmPrologue) != 0) continue;
    GemmChoice choice{&entry, 1};
    if (!choice.divides_k_among_ctas()) {
      if (slash != whole.npos)
        return refuse(Code::ERROR_PARSE, "this kernel does not divide k: leave out \"/<blocks>\"");
      *out = choice;
      return {};
    }
    std::string_view rest = slash == whole.npos ? "" : whole.substr(slash + 1);
    const std::string_view factor = next_part(&rest);
    if (factor.size() != 1 || factor[0] < static_cast<char>('0' + choice.min_split()) ||
        factor[0] > '0' + static_cast<int>(kMaxCluster))
      return refuse(
          Code::ERROR_PARSE,
          choice.min_split() == 1
              ? "this kernel can divide k: add its factor of split-K (/1 to /8) or stream-K (/1, "
                "/2, /4 or /8)"
              : "this kernel divides k: add the number of blocks that share a tile, /2 to /8");
    choice.split = static_cast<uint32_t>(factor[0] - '0');
    const bool more = whole.size() > symbol.size() + 2;  // after the factor
    if (more && !choice.has(kGemmStreamK))
      return refuse(Code::ERROR_PARSE, "leave out what follows the number of blocks");
    if (more && !parse_stream_k(rest, whole.ends_with('/'), &choice))
      return refuse(Code::ERROR_PARSE,
                    choice.takes_any_cluster()
                        ? "after the stream-K factor comes nothing or the shape of a cluster, "
                          "/2x1, /1x2, /2x2, /4x1, /1x4, /4x2 or /2x4, and then nothing or the "
                          "columns of a tile, such as /w128: a multiple of 16, and of 8 for each "
                          "block of the cluster along m, up to the columns in the kernel's name"
                        : "after the stream-K factor of a kernel for narrow types comes nothing, "
                          "or for a faststream kernel the columns of a tile, such as /w128: a "
                          "multiple of 16 up to the columns in the kernel's name");
    if (choice.cluster() > kMaxCluster)
      return refuse(Code::ERROR_PARSE,
                    "a cluster has at most eight blocks: this kernel's clusters share loads, so "
                    "the split-K factor must be smaller");
    *out = choice;
    return {};
  }
  return refuse(Code::ERROR_NOT_FOUND, "no gemm kernel of this library has that name");
}

Status check_gemm_choice(const Device& device, const GemmProblem& problem,
                         const GemmChoice& choice) {
  const GemmProblem kernel_problem = gemm_kernel_view(choice, problem);
  const GemmDesc& d = kernel_problem.desc;
  const std::string text = gemm_choice_text(choice);
  const auto fault = [](const char* rule, int64_t got, int64_t limit) {
    return Fault{.argument = "candidate", .rule = rule, .got = got, .limit = limit};
  };
  const char* name = text.c_str();
  const auto order = [](Order o) { return o == Order::row ? "row" : "column"; };
  switch (gemm_misfit(device, kernel_problem, choice)) {
    case GemmMisfit::none:
      break;
    case GemmMisfit::feature:
      return fail(Code::ERROR_UNSUPPORTED, fault("candidate_feature", choice.entry->feature, 0),
                  "candidate %s does not run on %s", name, device.info().name.c_str());
    case GemmMisfit::types:
      return fail(Code::ERROR_UNSUPPORTED, fault("candidate_types", 0, 0),
                  "candidate %s is for %s, the description for %s", name,
                  entry_types(*choice.entry).c_str(),
                  types(d.a_dtype, d.b_type(), d.d_dtype).c_str());
    case GemmMisfit::accumulators:
      if (choice.has(kGemmNoPromotion) && d.a_scaling.kind >= ScaleKind::row128)
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_sums", 0, 0),
                    "candidate %s multiplies by the scales after the whole sum, but the scales of "
                    "this description differ for each 128 of k: take a kernel that adds up each "
                    "128 of k outside the tensor cores, a kernel without tensor maps, or scales "
                    "that do not depend on k",
                    name);
      if (choice.has(kGemmNoPromotion))
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_sums", 0, 0),
                    "candidate %s accumulates in the tensor cores only, with reduced precision: "
                    "set TW_GEMM_FAST_ACCUMULATE to allow it",
                    name);
      return fail(
          Code::ERROR_UNSUPPORTED, fault("candidate_sums", 0, 0),
          "candidate %s has f16 accumulators: set accumulator_dtype to TW_DTYPE_F16 to allow it",
          name);
    case GemmMisfit::orders:
      return fail(Code::ERROR_UNSUPPORTED, fault("candidate_orders", 0, 0),
                  "candidate %s is for other orders of A and B: %s it would see A %s-major and B "
                  "%s-major",
                  name,
                  kernel_problem.swapped ? "with the operands swapped" : "with this description",
                  order(d.a_order), order(d.b_order));
    case GemmMisfit::promises:
      return fail(Code::ERROR_UNSUPPORTED,
                  fault("candidate_promises", d.a_alignment, kMapAlignment),
                  "candidate %s uses tensor maps, which need addresses that are multiples of 16: "
                  "with TW_GEMM_BATCH_POINTERS promise a_alignment and b_alignment of at least 16 "
                  "(they are %u and %u)",
                  name, kernel_problem.swapped ? d.b_alignment : d.a_alignment,
                  kernel_problem.swapped ? d.a_alignment : d.b_alignment);
    case GemmMisfit::pitches:
      // With staging copies lda may be large enough and k too small: the caller's pitch may be k.
      if (!choice.uses_maps())
        return fail(
            Code::ERROR_UNSUPPORTED,
            fault("candidate_pitches", gemm_pitch_without_copy(d), kGemmNoMapsSplitMinPitch),
            "candidate %s loads aligned 16-byte pieces, and %s is %" PRId64
            ": it must be at least %" PRId64 " elements",
            name,
            d.lda >= kGemmNoMapsSplitMinPitch ? "k"
            : kernel_problem.swapped          ? "ldb"
                                              : "lda",
            gemm_pitch_without_copy(d), kGemmNoMapsSplitMinPitch);
      return fail(
          Code::ERROR_UNSUPPORTED,
          fault("candidate_pitches", (kernel_problem.swapped ? d.ldb : d.lda), kMapAlignment),
          "candidate %s uses tensor maps, which need pitches that are multiples of 16 "
          "bytes below 2^40: lda is %" PRId64 " and ldb %" PRId64 " elements of %d bytes",
          name, kernel_problem.swapped ? d.ldb : d.lda, kernel_problem.swapped ? d.lda : d.ldb,
          kernel_problem.in_bytes);
    case GemmMisfit::cluster:
      return fail(Code::ERROR_UNSUPPORTED,
                  fault("candidate_cluster", choice.cluster(), usable_sms(device, d.max_sms)),
                  "candidate %s needs clusters of %u blocks, which do not fit the %u SMs that the "
                  "plan may use",
                  name, choice.cluster(), usable_sms(device, d.max_sms));
    case GemmMisfit::k:
      if (choice.has(kGemmShort))
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_depth", d.k, choice.entry->tile[2]),
                    "candidate %s takes k up to %d: k is %" PRId64, name, choice.entry->tile[2],
                    d.k);
      return fail(Code::ERROR_UNSUPPORTED,
                  fault("candidate_split", choice.split, ceil_div(d.k, choice.entry->tile[2])),
                  "candidate %s divides k among %u blocks: k is %" PRId64 ", which is only %" PRId64
                  " blocks of %d",
                  name, choice.split, d.k, ceil_div(d.k, choice.entry->tile[2]),
                  choice.entry->tile[2]);
    case GemmMisfit::scales:
      if (choice.is_narrow_split())
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_scales", 0, 0),
                    "candidate %s takes no d_quantize: take a scaledstream kernel", name);
      return fail(Code::ERROR_UNSUPPORTED, fault("candidate_scales", 0, 0),
                  "candidate %s takes scales that differ for each 128 of k only as 1x128 of A by "
                  "128x128 of B%s, and no d_quantize: take a scaledstream kernel",
                  name, kernel_problem.swapped ? " of the swapped operands" : "");
    case GemmMisfit::epilogue:
      if (choice.is_scaled_rowstream())
        return fail(Code::ERROR_UNSUPPORTED,
                    fault("candidate_gate", static_cast<int64_t>(d.epilogue.gate), 0),
                    "candidate %s has no gates: take another of tw_gemm_candidates()", name);
      if (choice.is_narrow_split())
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_epilogue", 0, 0),
                    "candidate %s computes one product without a gate, and takes m, alpha and beta "
                    "from the host only: take a scaledstream or faststream kernel",
                    name);
      if (choice.has(kGemmBatched))
        return fail(
            Code::ERROR_UNSUPPORTED, fault("candidate_epilogue", 0, 0),
            "candidate %s only computes alpha * A B of matrices at constant distances: "
            "bias, activation, gate, d_factor, TW_GEMM_AMAX and TW_GEMM_BATCH_POINTERS need "
            "an epilogue kernel",
            name);
      if (!choice.has(kGemmEpilogue))
        return fail(Code::ERROR_UNSUPPORTED, fault("candidate_epilogue", 0, 0),
                    "candidate %s only computes alpha * A B%s: bias, activation, gate, d_factor "
                    "and TW_GEMM_AMAX need an epilogue kernel",
                    name, choice.has(kGemmStreamK) ? "" : " + beta * C");
      if (gemm_consecutive_tiles(choice, d) > 1 && choice.split > 1)
        return fail(
            Code::ERROR_UNSUPPORTED, fault("candidate_parts", choice.split, 1),
            "candidate %s may divide a tile's k among %u blocks (stream-K factor %u): with a gate "
            "and d_quantize one block multiplies two tiles for each scale of D, so the factor must "
            "be 1",
            name, choice.split, choice.split);
      return fail(Code::ERROR_UNSUPPORTED,
                  fault("candidate_gate", static_cast<int64_t>(d.epilogue.gate), 0),
                  "candidate %s cannot do this gate, because one of these conditions is not met: D "
                  "must be row-major; if tiles have 64 columns and there is no split-K, D must be "
                  "f32; if the gate is TW_GATE_HALVES and B is row-major, the tile's columns must "
                  "be a multiple of 128 and n / 2 a multiple of 8",
                  name);
    case GemmMisfit::d_map:
      return fail(
          Code::ERROR_UNSUPPORTED, fault("candidate_stores", d.ldd, kMapAlignment),
          "candidate %s writes D in aligned pieces of 16 bytes, which needs pitches and strides "
          "that are multiples of 16 bytes below 2^40, and rows (of a column-major D: columns) "
          "whose "
          "length is a multiple of 16 bytes: ldd is %" PRId64 ", d_batch_stride %" PRId64
          " and %s %" PRId64 " elements of %d bytes: change them, or use an epilogue kernel",
          name, d.ldd, d.d_batch_stride,
          kernel_problem.swapped == choice.has(kGemmSwapAB) ? "n" : "m",
          kernel_problem.d_contiguous(), kernel_problem.out_bytes);
    case GemmMisfit::split_factor:
      return fail(
          Code::ERROR_UNSUPPORTED, fault("candidate_parts", choice.split, 8),
          "candidate %s may divide a tile's k among %u blocks: this number, the stream-K "
          "factor, must be 1, 2, 4 or 8; if the blocks of a cluster share their loads, it must "
          "be 1 or 8",
          name, choice.split);
  }
  if (gemm_fits_launch(choice, kernel_problem)) return {};
  if (gemm_count_units(choice, kernel_problem) > gemm_max_units(choice))
    return fail(
        Code::ERROR_UNSUPPORTED,
        fault("candidate_tiles", gemm_count_units(choice, kernel_problem), gemm_max_units(choice)),
        "candidate %s would need %" PRId64
        " work units of %u blocks: one launch can have at most %" PRId64,
        name, gemm_count_units(choice, kernel_problem), choice.cluster(), gemm_max_units(choice));
  return fail(Code::ERROR_UNSUPPORTED,
              fault("candidate_room", gemm_count_units(choice, kernel_problem) * choice.cluster(),
                    d.max_sms),
              "candidate %s needs %" PRId64 " blocks at once, more than max_sms %u", name,
              gemm_count_units(choice, kernel_problem) * choice.cluster(), d.max_sms);
}

}  // namespace tw
