// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuBLASLt as the peer of gemm: loaded at run time, with a workspace of 64 MB, the operands' actual
// alignments and the first algorithms of its heuristic.

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/gemm/gemm_sets.hpp"

namespace tw::bench {

/// The peer's epilogue.
struct PeerEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;  ///< address; one element of D's type per column of a row-major D
  uint64_t c = 0;     ///< address of a matrix like D to add; 0: none, unless the shape accumulates
  float alpha = 1.0f;
  float beta = 1.0f;  ///< of the matrix to add
};

/// cuBLASLt's epilogue with this bias and activation, or DEFAULT if it has none.
cublasLtEpilogue_t peer_epilogue_kind(bool bias, Activation activation);

class GemmPeer {
 public:
  static constexpr size_t kWorkspaceBytes = 64 << 20;
  static constexpr int kAlgorithms = 8;

  /// Returns nullptr, and the reason in `why`, without cuBLASLt. `workspace` has kWorkspaceBytes.
  static std::unique_ptr<GemmPeer> open(const std::string& path, uint64_t workspace,
                                        std::string* why);
  ~GemmPeer();

  /// Replaces the prepared shape. Returns how many algorithms the heuristic offers (0: none).
  /// `alignment` is the smallest alignment of the operands' addresses.
  int prepare(const GemmShape& shape, DType dtype, uint32_t alignment,
              const PeerEpilogue& epilogue = {});
  /// Enqueues algorithm `index`; false if the library refuses it. `c` replaces the prepared one.
  bool enqueue(int index, CUstream_st* stream, uint64_t a, uint64_t b, uint64_t d,
               uint64_t c = 0) const;

  /// The library's version number: 130100 is 13.1.0.
  size_t version() const { return cublasLtGetVersion_(); }

 private:
  GemmPeer() = default;
  bool load(const std::string& path, std::string* why);
  void forget();
  cublasLtMatrixLayout_t layout(cudaDataType_t type, int64_t rows, int64_t columns) const;

  void* library_ = nullptr;
  uint64_t workspace_ = 0;
  int32_t batch_ = 1;
#define TW_PEER_SYMBOL(name) decltype(&::name) name##_ = nullptr;
#include "tests/bench/gemm/cublaslt.inc"
#undef TW_PEER_SYMBOL
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  float alpha_ = 1.0f, beta_ = 0.0f;
  uint64_t c_ = 0;
};

}  // namespace tw::bench
