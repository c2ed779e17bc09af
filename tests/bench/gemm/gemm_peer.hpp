// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuBLASLt as the peer of gemm: loaded at run time, 64 MB of workspace, the alignments that the
// operands have, the first algorithms of its heuristic.

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/gemm/gemm_sets.hpp"

namespace tw::bench {

/// What the peer does after its product, where it can.
struct PeerEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;  ///< of D's type, for each column of a row-major D
  uint64_t c = 0;     ///< of a matrix like D that is added; 0: none but what the shape says
};

class GemmPeer {
 public:
  static constexpr size_t kWorkspaceBytes = 64 << 20;
  static constexpr int kAlgorithms = 8;

  /// nullptr, and why, where there is no cuBLASLt. `workspace` has kWorkspaceBytes.
  static std::unique_ptr<GemmPeer> open(const std::string& path, uint64_t workspace,
                                        std::string* why);
  ~GemmPeer();

  /// Products, packed one behind the other, of the shapes prepared from here on; 1 at first.
  void set_batch(int32_t count) { batch_ = count; }
  /// Forgets the last shape; how many algorithms the heuristic offers for this one (0: none).
  /// `alignment` is the least of the operands' addresses.
  int prepare(const GemmShape& shape, DType dtype, uint32_t alignment,
              const PeerEpilogue& epilogue = {});
  /// Enqueues algorithm `index`; false where the library refuses it.
  bool enqueue(int index, CUstream_st* stream, uint64_t a, uint64_t b, uint64_t d) const;

  /// As the library counts: 130100 is 13.1.0.
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
  float beta_ = 0.0f;
  uint64_t c_ = 0;
};

}  // namespace tw::bench
