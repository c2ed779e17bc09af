// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = act(alpha * A B + beta * C + bias) * scale: the caller's description, and the problem that
// kernels see.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "ops/common/activation.hpp"
#include "ops/common/scale_kind.hpp"

namespace tw {

enum class Order : int32_t { row = 0, column = 1 };

/// Bits of GemmDesc::flags, as the C API's TW_GEMM_.
inline constexpr uint32_t kGemmPointers = 1;
inline constexpr uint32_t kGemmInvariant = 2;
inline constexpr uint32_t kGemmProgrammatic = 4;
inline constexpr uint32_t kGemmConstantA = 8;
inline constexpr uint32_t kGemmConstantB = 16;
inline constexpr uint32_t kGemmDeviceM = 32;
inline constexpr uint32_t kGemmDeviceScalars = 64;
inline constexpr uint32_t kGemmFlagsEnd = 128;

/// A batch stride that follows from the leading dimension.
inline constexpr int64_t kGemmPackedBatch = -1;
/// Of matrices in a batch.
inline constexpr int64_t kGemmMaxBatch = int64_t{1} << 20;

inline bool is_f8(DType type) {
  return type == DType::F8E4M3 || type == DType::F8E5M2;
}
/// Types of A and B whose kernels take scales.
inline bool is_narrow_type(DType type) {
  return is_f8(type) || type == DType::I8 || type == DType::TF32;
}

/// Where a vector has an element each.
enum class Per : int32_t { none = 0, tensor = 1, row = 2, column = 3 };
enum class Gate : int32_t { none = 0, halves = 1, interleaved = 2 };

/// Scales of A, which make a matrix of lines by blocks of k, of B, one of blocks by lines, or of D,
/// one of rows by blocks of columns: 0 for a packed leading dimension.
struct GemmScaling {
  ScaleKind kind = ScaleKind::none;
  Order order = Order::row;
  int64_t leading = 0;
  int64_t batch = kGemmPackedBatch;

  bool any() const { return kind != ScaleKind::none; }
};

/// What happens to alpha * A B + beta * C, as tw_gemm_desc says.
struct GemmEpilogue {
  Per bias = Per::none;
  DType bias_dtype{};  // D's where the caller left it 0
  Activation activation = Activation::identity;
  Gate gate = Gate::none;
  Per scale = Per::none;
  bool amax = false;

  bool any() const {
    return bias != Per::none || activation != Activation::identity || gate != Gate::none ||
           scale != Per::none || amax;
  }
};

/// As tw_gemm_desc: extents and leading dimensions in elements, 0 for packed.
struct GemmDesc {
  DType a_dtype = DType::BF16;
  DType b_dtype{}, c_dtype{};  // 0: A's, and D's
  DType d_dtype = DType::BF16;
  Order a_order = Order::row;
  Order b_order = Order::row;
  Order d_order = Order::row;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  uint32_t a_alignment = 0, b_alignment = 0, c_alignment = 0, d_alignment = 0;
  uint32_t max_sms = 0;
  DType accumulator = DType::F32;
  bool d_padding_free = false;
  int64_t min_m = 0;
  bool realign = false;
  int64_t batch = 1;
  // Elements between matrices; 0: all products share one.
  int64_t a_batch = kGemmPackedBatch, b_batch = kGemmPackedBatch;
  int64_t c_batch = kGemmPackedBatch, d_batch = kGemmPackedBatch;
  uint32_t flags = 0;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  GemmEpilogue epilogue;
  GemmScaling a_scaling, b_scaling;
  GemmScaling d_quantize;        // scales that the run computes: 1x128 or none
  bool fast_accumulate = false;  // no sums in f32 for each 128 of k

  /// B's type, which 0 stands for A's.
  DType b_type() const { return b_dtype == DType{} ? a_dtype : b_dtype; }
  /// Whether it takes kernels of narrow types, which have every epilogue.
  bool is_narrow() const { return is_narrow_type(a_dtype); }
};

/// As tw_gemm_args.
struct GemmRun {
  float alpha = 1.0f;
  float beta = 0.0f;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  int64_t m = -1;
  uint64_t workspace = 0, workspace_bytes = 0;
  uint64_t device_m = 0, device_alpha = 0, device_beta = 0;
  uint64_t skipped = 0;

  bool reads_ab() const { return alpha != 0.0f || device_alpha != 0; }
  bool reads_c() const { return beta != 0.0f || device_beta != 0; }
  uint64_t bias = 0, scale = 0, amax = 0;
  float scale_value = 1.0f;
  uint64_t a_scale = 0, b_scale = 0;  // of the operands
  uint64_t d_block_scale = 0;         // that the run computes for D
};

/// Tiles are counted in 32 bits, and the last one may reach past the extent.
inline constexpr int64_t kGemmMaxExtent = (int64_t{1} << 31) - 1024;

/// What a tensor map needs of an address and a pitch without interleave.
inline constexpr int64_t kMapAlignment = 16;

/// Of a run's workspace and what lies in it.
inline constexpr uint32_t kGemmWorkspaceAlignment = 256;

/// And of a pitch alone, exclusive.
inline constexpr int64_t kMapMaxStride = int64_t{1} << 40;

/// Of a pitch in bytes that is not negative.
inline bool pitch_suits_maps(int64_t bytes) {
  return bytes % kMapAlignment == 0 && bytes < kMapMaxStride;
}

inline bool addresses_suit_maps(const GemmRun& run) {
  return run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
}

/// The problem as kernels see it: D and C row-major, or, for transposed rows, column-major. Whoever
/// turns it round (D^T = B^T A^T) flips `swapped`.
struct GemmProblem {
  GemmDesc desc;         // checked, packed leading dimensions filled in
  bool swapped = false;  // desc's A is the caller's B, and the caller's m is desc.n
  int32_t in_bytes = 0;
  int32_t out_bytes = 0;
  bool reads_c = false;  // for runs that do alone, see gemm_with_c()
  int32_t copies = 0;    // staging copies of operands that no map can read, for rows through maps
  double copied_bytes = 0;  // that those read and write

  /// Elements between neighbours along each dimension.
  int64_t a_stride_m() const { return desc.a_order == Order::row ? desc.lda : 1; }
  int64_t a_stride_k() const { return desc.a_order == Order::row ? 1 : desc.lda; }
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }

  /// The extent that runs may have less of: the caller's m.
  int64_t rows() const { return swapped ? desc.n : desc.m; }
  void set_rows(int64_t m) { (swapped ? desc.n : desc.m) = m; }
  /// Rows and columns of D: gated, the caller's n has two of A B's columns for each of D's.
  bool gated() const { return desc.epilogue.gate != Gate::none; }
  int64_t d_rows() const { return gated() && swapped ? desc.m / 2 : desc.m; }
  int64_t d_columns() const { return gated() && !swapped ? desc.n / 2 : desc.n; }
  /// Elements along D's contiguous dimension.
  int64_t d_contiguous() const { return desc.d_order == Order::row ? d_columns() : d_rows(); }
  int64_t d_lines() const { return desc.d_order == Order::row ? d_rows() : d_columns(); }
  /// Whether what is gated lies along D's lines.
  bool gate_along() const { return swapped == (desc.d_order == Order::column); }

  /// Whether maps can have an operand's matrices: of the addresses, see addresses_suit_maps().
  bool pitches_suit_maps() const {
    return pitch_suits_maps(desc.lda * in_bytes) && pitch_suits_maps(desc.ldb * in_bytes) &&
           batch_suits_maps(desc.a_batch, in_bytes) && batch_suits_maps(desc.b_batch, in_bytes);
  }
  bool batch_suits_maps(int64_t stride, int32_t bytes) const {
    return desc.has(kGemmPointers) || desc.batch <= 1 || pitch_suits_maps(stride * bytes);
  }
  bool d_pitch_suits_maps() const { return pitch_suits_maps(desc.ldd * out_bytes); }
  /// Matrices of an operand that its map counts as a third dimension; the others are one matrix.
  int64_t map_batch(int64_t stride) const {
    return desc.has(kGemmPointers) || stride == 0 ? 1 : desc.batch;
  }
  /// Whether it takes the rows with every option (kGemmFull).
  bool wants_full() const {
    return desc.is_narrow() || desc.epilogue.any() || wants_batch() || reads_c;
  }
  /// Whether a batch row can do its runs, but for what a run itself may ask for: no epilogue,
  /// matrices at constant distances of sizes that the host knows, and a D that suits maps. It loads
  /// nothing early, as programmatic launches want it.
  bool is_alone() const {
    return !desc.epilogue.any() && !reads_c &&
           !desc.has(kGemmPointers | kGemmDeviceM | kGemmDeviceScalars | kGemmProgrammatic) &&
           d_suits_map();
  }
  /// Whether all of D can go through a map, but for what a run may break: its address and, where
  /// lines lie along m, its rows.
  bool d_suits_map() const {
    return d_pitch_suits_maps() && batch_suits_maps(desc.d_batch, out_bytes) &&
           (swapped || desc.d_padding_free || desc.n * out_bytes % kMapAlignment == 0);
  }
  /// Whether a run's addresses may turn out not to suit maps, so that a plan needs a row that takes
  /// any. With kGemmPointers only the device sees them, and rows through maps need the promise.
  bool wants_fallback() const {
    return !desc.realign && !desc.has(kGemmPointers) &&
           (desc.a_alignment < kMapAlignment || desc.b_alignment < kMapAlignment);
  }
  bool wants_batch() const {
    return desc.batch > 1 || desc.has(kGemmPointers | kGemmDeviceM | kGemmDeviceScalars);
  }
};

/// Checks every field of the description by name and brings it into the kernels' form, D row-major.
Status gemm_problem(const GemmDesc& desc, GemmProblem* out);

/// Refuses a type of B that does not go with A's.
Status gemm_type_pair(DType a, DType b);

/// Checks the description's batch and options, and fills in packed batch strides: a part of
/// gemm_problem().
Status gemm_batch(GemmProblem* problem);

/// The first matrix of a batch that shares an element with matrix 0, or 0 where there is none:
/// matrices of `lines` of `contiguous` elements, `leading` apart, and `stride` from one to the
/// next. What holds for matrix 0 holds for all that lie as far apart.
int64_t gemm_first_overlap(int64_t lines, int64_t contiguous, int64_t leading, int64_t batch,
                           int64_t stride);

/// For messages, which have the number beside it.
inline const char* gemm_type_name(DType type) {
  return is_dtype(static_cast<int32_t>(type)) ? dtype_name(type) : "no type";
}

/// A number that names no type is wrong everywhere; a type that no kernel takes is unsupported
/// here.
inline Code gemm_unsupported_type(DType type) {
  return is_dtype(static_cast<int32_t>(type)) ? Code::ERROR_UNSUPPORTED
                                              : Code::ERROR_INVALID_ARGUMENT;
}

/// Checks the epilogue of a description whose types and extents are, and fills in its bias's type.
Status gemm_epilogue(GemmDesc* desc);

/// Checks the scales of a description whose types, extents and batch are, and fills in packed
/// leading dimensions and batch strides: a part of gemm_problem().
Status gemm_scaling(GemmDesc* desc);

/// Rows and columns of the matrix of A's, of B's, and of D's scales; `rows` are those of a run.
struct GemmScaleExtent {
  int64_t rows, columns;
};
GemmScaleExtent gemm_a_scales(const GemmDesc& desc, int64_t rows);
GemmScaleExtent gemm_b_scales(const GemmDesc& desc);
GemmScaleExtent gemm_d_scales(const GemmDesc& desc, int64_t rows);

/// The same product by D^T = B^T A^T: operands swapped, each the same memory in the other order.
GemmProblem turned(const GemmProblem& problem);

}  // namespace tw
