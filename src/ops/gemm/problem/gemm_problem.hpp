// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = act(alpha * A B + beta * C + bias) * scale: the caller's description (GemmDesc), a run's
// arguments (GemmRun), and the checked problem in the kernels' form (GemmProblem), in which D is
// row-major. A line of a matrix is a row or a column, whichever is contiguous in memory; the pitch
// is the distance between the beginnings of two lines.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "ops/common/activation.hpp"
#include "ops/common/scale_kind.hpp"

namespace tw {

enum class Order : int32_t { row = 0, column = 1 };

/// Bits of GemmDesc::flags; they have the values of the C API's TW_GEMM_ flags.
inline constexpr uint32_t kGemmPointers = 1;
inline constexpr uint32_t kGemmInvariant = 2;
inline constexpr uint32_t kGemmProgrammatic = 4;
inline constexpr uint32_t kGemmConstantA = 8;
inline constexpr uint32_t kGemmConstantB = 16;
inline constexpr uint32_t kGemmDeviceM = 32;
inline constexpr uint32_t kGemmDeviceScalars = 64;
inline constexpr uint32_t kGemmFlagsEnd = 128;

/// Batch stride of packed matrices: it follows from the leading dimension.
inline constexpr int64_t kGemmPackedBatch = -1;
inline constexpr int64_t kGemmMaxBatch = int64_t{1} << 20;

inline bool is_f8(DType type) {
  return type == DType::F8E4M3 || type == DType::F8E5M2;
}
/// Narrow types: the types of A and B whose kernels take scales. tf32 is one of them: it has a
/// short mantissa, but 32 bits in memory.
inline bool is_narrow_type(DType type) {
  return is_f8(type) || type == DType::I8 || type == DType::TF32;
}

/// A bias or a scale has one element for all of D, for each row, or for each column.
enum class Per : int32_t { none = 0, tensor = 1, row = 2, column = 3 };
enum class Gate : int32_t { none = 0, halves = 1, interleaved = 2 };

/// Scales of an operand. The scales of A form a matrix with a row for each row of A and a column
/// for each 128 of k. Those of B have a row for each 128 of k and a column for each column of B,
/// those of D a row for each row and a column for each 128 columns. A `leading` of 0 means packed;
/// it stays 0 for kinds without a matrix.
struct GemmScaling {
  ScaleKind kind = ScaleKind::none;
  Order order = Order::row;
  int64_t leading = 0;
  int64_t batch_stride = kGemmPackedBatch;

  bool any() const { return kind != ScaleKind::none; }
};

/// What a kernel applies to alpha * A B + beta * C; see tw_gemm_desc.
struct GemmEpilogue {
  Per bias = Per::none;
  DType bias_dtype{};  // 0: D's type if that is bf16 or f16, else f32
  Activation activation = Activation::identity;
  Gate gate = Gate::none;
  Per d_factor = Per::none;
  bool amax = false;

  bool any() const {
    return bias != Per::none || activation != Activation::identity || gate != Gate::none ||
           d_factor != Per::none || amax;
  }
};

/// The fields of tw_gemm_desc. Extents, leading dimensions and strides count elements; a leading
/// dimension of 0 means packed.
struct GemmDesc {
  DType a_dtype = DType::BF16;
  DType b_dtype{}, c_dtype{};  // 0: A's type, D's type
  DType d_dtype = DType::BF16;
  Order a_order = Order::row;
  Order b_order = Order::row;
  Order d_order = Order::row;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  uint32_t a_alignment = 0, b_alignment = 0, c_alignment = 0, d_alignment = 0;
  uint32_t max_sms = 0;
  DType accumulator = DType::F32;
  bool d_padding_writable = false;
  int64_t min_m = 0;
  bool staging_copy = false;  // TW_GEMM_STAGING_COPY
  int64_t batch = 1;          // products
  // Elements between matrices; 0: all products share one matrix.
  int64_t a_batch_stride = kGemmPackedBatch, b_batch_stride = kGemmPackedBatch;
  int64_t c_batch_stride = kGemmPackedBatch, d_batch_stride = kGemmPackedBatch;
  uint32_t flags = 0;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  GemmEpilogue epilogue;
  GemmScaling a_scaling, b_scaling;
  GemmScaling d_quantize;        // scales of D that the kernel computes: 1x128 or none
  bool fast_accumulate = false;  // tensor cores may accumulate 8-bit floats over all of k

  /// B's type; a b_dtype of 0 stands for A's.
  DType b_type() const { return b_dtype == DType{} ? a_dtype : b_dtype; }
  /// Whether the product needs kernels for narrow types, all of which support every epilogue.
  bool is_narrow() const { return is_narrow_type(a_dtype); }
};

/// The fields of tw_gemm_args.
struct GemmRun {
  float alpha = 1.0f;
  float beta = 0.0f;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  int64_t m = -1;
  uint64_t workspace = 0, workspace_bytes = 0;
  uint64_t device_m = 0, device_alpha = 0, device_beta = 0;
  uint64_t invalid_count = 0;

  bool reads_ab() const { return alpha != 0.0f || device_alpha != 0; }
  bool reads_c() const { return beta != 0.0f || device_beta != 0; }
  uint64_t bias = 0, d_factor = 0, amax = 0;
  float d_factor_value = 1.0f;
  uint64_t a_scale = 0, b_scale = 0;
  uint64_t d_block_scale = 0;  // written by the kernel
};

/// Largest m, n and k: coordinates are 32-bit, and the last tile may reach past the extent.
inline constexpr int64_t kGemmMaxExtent = (int64_t{1} << 31) - 1024;

/// Alignment in bytes that a tensor map without interleave needs of addresses and pitches.
inline constexpr int64_t kMapAlignment = 16;

/// Alignment in bytes of a run's workspace and of each region in it.
inline constexpr uint32_t kGemmWorkspaceAlignment = 256;

/// Pitches of a tensor map are below this, in bytes.
inline constexpr int64_t kMapMaxStride = int64_t{1} << 40;

/// `bytes` is a pitch of 0 or more.
inline bool pitch_suits_maps(int64_t bytes) {
  return bytes % kMapAlignment == 0 && bytes < kMapMaxStride;
}

inline bool addresses_suit_maps(const GemmRun& run) {
  return run.a % kMapAlignment == 0 && run.b % kMapAlignment == 0;
}

/// The problem as kernels see it: D and C are row-major, for swap-AB kernels column-major.
/// swap_ab() converts between the two (D^T = B^T A^T) and flips `swapped`.
struct GemmProblem {
  GemmDesc desc;         // checked, packed leading dimensions filled in
  bool swapped = false;  // desc's A is the caller's B, and desc.n the caller's m
  int32_t in_bytes = 0;
  int32_t out_bytes = 0;
  bool reads_c = false;           // the problem of runs that read C, see problem_with_c()
  int32_t staging_copies = 0;     // operands that are copied for TMA kernels
  double staging_copy_bytes = 0;  // bytes that these copies read and write

  /// Elements between neighbors along each dimension.
  int64_t a_stride_m() const { return desc.a_order == Order::row ? desc.lda : 1; }
  int64_t a_stride_k() const { return desc.a_order == Order::row ? 1 : desc.lda; }
  int64_t b_stride_k() const { return desc.b_order == Order::row ? desc.ldb : 1; }
  int64_t b_stride_n() const { return desc.b_order == Order::row ? 1 : desc.ldb; }

  /// The caller's m, of which runs may have less.
  int64_t rows() const { return swapped ? desc.n : desc.m; }
  void set_rows(int64_t m) { (swapped ? desc.n : desc.m) = m; }
  /// Whether a gate makes each column of the caller's D from two columns of A B.
  bool gated() const { return desc.epilogue.gate != Gate::none; }
  int64_t d_rows() const { return gated() && swapped ? desc.m / 2 : desc.m; }
  int64_t d_columns() const { return gated() && !swapped ? desc.n / 2 : desc.n; }
  /// Elements along D's contiguous dimension.
  int64_t d_contiguous() const { return desc.d_order == Order::row ? d_columns() : d_rows(); }
  int64_t d_lines() const { return desc.d_order == Order::row ? d_rows() : d_columns(); }
  /// Whether the gated dimension lies along D's lines.
  bool gates_along_lines() const { return swapped == (desc.d_order == Order::column); }

  /// Whether tensor maps can describe A and B, apart from their addresses (addresses_suit_maps()).
  bool pitches_suit_maps() const {
    return pitch_suits_maps(desc.lda * in_bytes) && pitch_suits_maps(desc.ldb * in_bytes) &&
           batch_suits_maps(desc.a_batch_stride, in_bytes) &&
           batch_suits_maps(desc.b_batch_stride, in_bytes);
  }
  bool batch_suits_maps(int64_t stride, int32_t bytes) const {
    return desc.has(kGemmPointers) || desc.batch <= 1 || pitch_suits_maps(stride * bytes);
  }
  bool d_pitch_suits_maps() const { return pitch_suits_maps(desc.ldd * out_bytes); }
  /// Extent of the third dimension of an operand's map: the batch, or 1 if there is one matrix per
  /// map.
  int64_t map_batch(int64_t stride) const {
    return desc.has(kGemmPointers) || stride == 0 ? 1 : desc.batch;
  }
  /// Whether the problem needs an epilogue kernel (kGemmEpilogue), which has every option.
  bool wants_epilogue_kernel() const {
    return desc.is_narrow() || desc.epilogue.any() || wants_batch() || reads_c;
  }
  /// Whether batched kernels (kGemmBatched) can serve runs that do not read C. They need constant
  /// strides, sizes that the host knows, and a D that suits maps, and have no epilogue. Plans with
  /// dependent launch do not use them, because they load nothing before the predecessor grid ends.
  bool suits_batched_kernels() const {
    return !desc.epilogue.any() && !reads_c &&
           !desc.has(kGemmPointers | kGemmDeviceM | kGemmDeviceScalars | kGemmProgrammatic) &&
           d_suits_map();
  }
  /// Whether all of D can be written through a map, as far as the description tells. It also
  /// depends on the run's address of D and, if D's lines lie along m, on its number of rows.
  bool d_suits_map() const {
    return d_pitch_suits_maps() && batch_suits_maps(desc.d_batch_stride, out_bytes) &&
           (swapped || desc.d_padding_writable || desc.n * out_bytes % kMapAlignment == 0);
  }
  /// Whether a run's addresses may be unsuitable for maps, so that a plan also needs a kernel
  /// without maps. With kGemmPointers the host never sees the addresses, so TMA kernels rely on the
  /// promised alignments.
  bool wants_fallback() const {
    return !desc.staging_copy && !desc.has(kGemmPointers) &&
           (desc.a_alignment < kMapAlignment || desc.b_alignment < kMapAlignment);
  }
  bool wants_batch() const {
    return desc.batch > 1 || desc.has(kGemmPointers | kGemmDeviceM | kGemmDeviceScalars);
  }
};

/// Checks every field of the description, naming the one at fault, and converts it to the kernels'
/// form with D row-major.
Status gemm_problem(const GemmDesc& desc, GemmProblem* out);

/// Refuses a type of B that does not go with A's.
Status gemm_type_pair(DType a, DType b);

/// A step of gemm_problem(): checks the batch and the flags, and fills in packed batch strides.
Status gemm_batch(GemmProblem* problem);

/// Index of the first matrix of a batch that shares an element with matrix 0, or 0 if none does. A
/// matrix has `lines` lines of `contiguous` elements, `leading` elements apart; matrices are
/// `stride` apart. Checking matrix 0 suffices, because all distances are multiples of `stride`.
int64_t gemm_first_overlap(int64_t lines, int64_t contiguous, int64_t leading, int64_t batch,
                           int64_t stride);

/// Name of a type for messages, which also give its number.
inline const char* gemm_type_name(DType type) {
  return is_dtype(static_cast<int32_t>(type)) ? dtype_name(type) : "no type";
}

/// Error code for a rejected type: a number that names no type is an invalid argument, a type that
/// no kernel takes is unsupported.
inline Code gemm_unsupported_type(DType type) {
  return is_dtype(static_cast<int32_t>(type)) ? Code::ERROR_UNSUPPORTED
                                              : Code::ERROR_INVALID_ARGUMENT;
}

/// A step of gemm_problem() after types and extents were checked: checks the epilogue and fills in
/// the bias's type.
Status gemm_epilogue(GemmDesc* desc);

/// A step of gemm_problem() after types, extents and the batch were checked: checks the scales and
/// fills in their packed leading dimensions and batch strides.
Status gemm_scaling(GemmDesc* desc);

/// Rows and columns of the matrix of scales of A, B and D; `rows` is a run's m.
struct GemmScaleExtent {
  int64_t rows, columns;
};
GemmScaleExtent gemm_a_scales(const GemmDesc& desc, int64_t rows);
GemmScaleExtent gemm_b_scales(const GemmDesc& desc);
GemmScaleExtent gemm_d_scales(const GemmDesc& desc, int64_t rows);

/// The same product as D^T = B^T A^T: A and B are exchanged, and each has the other order, in which
/// its memory is that of the transposed matrix.
GemmProblem swap_ab(const GemmProblem& problem);

}  // namespace tw
