// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads and makes DLPack tensors, which Python frameworks and others exchange. DLPack's header is
// not needed, because its structs are a fixed ABI.
//
// There are two forms. The older DLManagedTensor begins with the tensor itself, so a bare DLTensor
// reads the same. The newer DLManagedTensorVersioned begins with a version.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "runtime/device.hpp"

namespace tw {

enum class DlpackForm : int32_t { tensor = 1, versioned = 2 };

inline constexpr int32_t kMaxTensorRank = 8;

/// A tensor in host or device memory, as the C API's tw_tensor describes it.
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

/// Reads a DLPack tensor of the given form. The result keeps no pointer into it but the address of
/// its elements.
Status from_dlpack(const void* dlpack, DlpackForm form, Tensor* out);

/// Called once when the consumer deletes an exported tensor; may be nullptr.
using ReleaseCallback = void (*)(void* user);

/// Makes a managed DLPack tensor of the given form. Its deleter frees it and calls release(user).
Status to_dlpack(const Tensor& tensor, DlpackForm form, ReleaseCallback release, void* user,
                 void** managed);

}  // namespace tw
