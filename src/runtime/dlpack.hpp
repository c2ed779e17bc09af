// SPDX-License-Identifier: Apache-2.0
#pragma once
// DLPack tensors by their layout in memory, without its header: what Python's frameworks, and
// others, pass one another a tensor with.
//
// Two forms exist. Of the older one, DLManagedTensor, the tensor itself is the first member, so a
// bare DLTensor reads the same; the newer one, DLManagedTensorVersioned, has a version in front.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "runtime/device.hpp"

namespace tw {

enum class DlpackForm : int32_t { tensor = 1, versioned = 2 };

inline constexpr int32_t kMaxTensorRank = 8;

/// A tensor in any memory: the C API's tw_tensor.
struct Tensor {
  DType dtype{};
  DeviceKind device_kind = DeviceKind::host;
  int32_t ordinal = 0;
  int32_t rank = 0;
  bool read_only = false;
  uint64_t address = 0;
  int64_t shape[kMaxTensorRank] = {};
  int64_t stride[kMaxTensorRank] = {};  ///< elements
};

/// Reads a DLPack tensor; nothing of it is kept.
Status from_dlpack(const void* dlpack, DlpackForm form, Tensor* out);

/// Called once when the consumer of an exported tensor is done with it; may be nullptr.
using ReleaseCallback = void (*)(void* user);

/// Makes a managed DLPack tensor of a form, whose deleter frees it and calls `release`.
Status to_dlpack(const Tensor& tensor, DlpackForm form, ReleaseCallback release, void* user,
                 void** managed);

}  // namespace tw
