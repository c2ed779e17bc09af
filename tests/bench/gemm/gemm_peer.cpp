// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm/gemm_peer.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace tw::bench {
namespace {

cudaDataType_t cuda_type(DType type) {
  return type == DType::BF16 ? CUDA_R_16BF : type == DType::F16 ? CUDA_R_16F : CUDA_R_32F;
}

}  // namespace

cublasLtEpilogue_t peer_epilogue_kind(bool bias, Activation activation) {
  if (activation == Activation::relu)
    return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (activation == Activation::gelu_tanh)
    return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

std::unique_ptr<GemmPeer> GemmPeer::open(const std::string& path, uint64_t workspace,
                                         std::string* why) {
  std::unique_ptr<GemmPeer> peer(new GemmPeer);
  peer->workspace_ = workspace;
  if (!peer->load(path, why)) return nullptr;
  if (peer->cublasLtCreate_(&peer->handle_) != CUBLAS_STATUS_SUCCESS) {
    *why = "cublasLtCreate failed";
    return nullptr;
  }
  return peer;
}

bool GemmPeer::load(const std::string& path, std::string* why) {
  std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (!path.empty()) names = {path};
  for (const std::string& name : names)
    if (!library_) library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    *why = dlerror();
    return false;
  }
#define TW_PEER_SYMBOL(name)                                             \
  name##_ = reinterpret_cast<decltype(name##_)>(dlsym(library_, #name)); \
  if (!name##_) {                                                        \
    *why = #name " is missing";                                          \
    return false;                                                        \
  }
#include "tests/bench/gemm/cublaslt.inc"
#undef TW_PEER_SYMBOL
  return true;
}

GemmPeer::~GemmPeer() {
  forget();
  if (handle_) cublasLtDestroy_(handle_);
}

void GemmPeer::forget() {
  if (operation_) cublasLtMatmulDescDestroy_(operation_);
  for (cublasLtMatrixLayout_t* layout : {&first_, &second_, &result_}) {
    if (*layout) cublasLtMatrixLayoutDestroy_(*layout);
    *layout = nullptr;
  }
  operation_ = nullptr;
  algorithms_.clear();
}

cublasLtMatrixLayout_t GemmPeer::layout(cudaDataType_t type, int64_t rows, int64_t columns) const {
  cublasLtMatrixLayout_t layout = nullptr;
  const auto r = static_cast<uint64_t>(rows);
  const auto c = static_cast<uint64_t>(columns);
  if (cublasLtMatrixLayoutCreate_(&layout, type, r, c, rows) != CUBLAS_STATUS_SUCCESS)
    return nullptr;
  const int64_t apart = rows * columns;
  if (batch_ > 1 &&
      (cublasLtMatrixLayoutSetAttribute_(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch_,
                                         sizeof batch_) != CUBLAS_STATUS_SUCCESS ||
       cublasLtMatrixLayoutSetAttribute_(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &apart, sizeof apart) != CUBLAS_STATUS_SUCCESS)) {
    cublasLtMatrixLayoutDestroy_(layout);
    return nullptr;
  }
  return layout;
}

// cuBLAS matrices are column-major: a row-major D = A B is D' = B' A' there.
int GemmPeer::prepare(const GemmShape& shape, DType dtype, uint32_t alignment,
                      const PeerEpilogue& epilogue) {
  forget();
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return 0;
  batch_ = shape.batch;
  alpha_ = epilogue.alpha;
  beta_ = shape.accumulate || epilogue.c ? epilogue.beta : 0.0f;
  c_ = epilogue.c;
  const cudaDataType_t in = cuda_type(dtype);
  const bool b_along_k = shape.b_order == Order::column;
  const bool a_along_k = shape.a_order == Order::row;
  first_ = b_along_k ? layout(in, shape.k, shape.n) : layout(in, shape.n, shape.k);
  second_ = a_along_k ? layout(in, shape.k, shape.m) : layout(in, shape.m, shape.k);
  result_ = layout(shape.f32_out ? CUDA_R_32F : in, shape.n, shape.m);
  if (!first_ || !second_ || !result_) return 0;
  if (cublasLtMatmulDescCreate_(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F) !=
      CUBLAS_STATUS_SUCCESS)
    return 0;
  const cublasOperation_t first_op = b_along_k ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second_op = a_along_k ? CUBLAS_OP_N : CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute_(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &first_op,
                                  sizeof first_op);
  cublasLtMatmulDescSetAttribute_(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &second_op,
                                  sizeof second_op);
  if (epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT)
    cublasLtMatmulDescSetAttribute_(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue.kind,
                                    sizeof epilogue.kind);
  if (epilogue.bias)
    cublasLtMatmulDescSetAttribute_(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &epilogue.bias,
                                    sizeof epilogue.bias);
  cublasLtMatmulPreference_t preference = nullptr;
  if (cublasLtMatmulPreferenceCreate_(&preference) != CUBLAS_STATUS_SUCCESS) return 0;
  const size_t workspace = kWorkspaceBytes;
  cublasLtMatmulPreferenceSetAttribute_(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                        &workspace, sizeof workspace);
  const uint32_t aligned = std::min(alignment, 256u);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    cublasLtMatmulPreferenceSetAttribute_(preference, attribute, &aligned, sizeof aligned);
  algorithms_.resize(kAlgorithms);
  int found = 0;
  if (cublasLtMatmulAlgoGetHeuristic_(handle_, operation_, first_, second_, result_, result_,
                                      preference, kAlgorithms, algorithms_.data(),
                                      &found) != CUBLAS_STATUS_SUCCESS)
    found = 0;
  cublasLtMatmulPreferenceDestroy_(preference);
  algorithms_.resize(static_cast<size_t>(found));
  return found;
}

bool GemmPeer::enqueue(int index, CUstream_st* stream, uint64_t a, uint64_t b, uint64_t d,
                       uint64_t c) const {
  const auto& algorithm = algorithms_[static_cast<size_t>(index)];
  if (algorithm.state != CUBLAS_STATUS_SUCCESS) return false;
  if (c == 0) c = c_;
  auto* const result = reinterpret_cast<void*>(d);
  const auto* const added = c ? reinterpret_cast<const void*>(c) : result;
  return cublasLtMatmul_(handle_, operation_, &alpha_, reinterpret_cast<const void*>(b), first_,
                         reinterpret_cast<const void*>(a), second_, &beta_, added, result_, result,
                         result_, &algorithm.algo, reinterpret_cast<void*>(workspace_),
                         kWorkspaceBytes, stream) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace tw::bench
