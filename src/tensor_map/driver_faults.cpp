// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/driver_faults.hpp"

#include "tensor_map/descriptor.hpp"
#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

struct DriverFault {
  const char* id;
  int32_t min_arch;
  int32_t max_arch;
  int32_t max_driver;
  int32_t word;
  uint64_t clear;
  uint64_t below_bytes;
};

constexpr DriverFault kFaults[] = {
#define TW_DRIVER_FAULT(id, min_arch, max_arch, max_driver, word, clear, below_bytes, text) \
  {#id, min_arch, max_arch, max_driver, word, clear, below_bytes},
#include "tensor_map/driver_faults.inc"
#undef TW_DRIVER_FAULT
};

}  // namespace

uint64_t tensor_span_bytes(const TensorMapDesc& desc) {
  uint64_t last = desc.global_dim[0] * global_bits(desc.dtype) / 8;
  for (int32_t i = 1; i < desc.rank; ++i) {
    uint64_t reach = 0;
    if (__builtin_mul_overflow(desc.global_dim[i] - 1, desc.global_stride_bytes[i - 1], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return UINT64_MAX;
  }
  return last;
}

const char* correct_driver_faults(const TensorMapDesc& desc, int32_t arch, int32_t driver_version,
                                  TensorMapBytes* bytes) {
  const char* corrected = nullptr;
  for (const DriverFault& fault : kFaults) {
    if (arch < fault.min_arch || arch > fault.max_arch || driver_version > fault.max_driver)
      continue;
    uint64_t& word = bytes->words[fault.word];
    if (tensor_span_bytes(desc) >= fault.below_bytes || (word & fault.clear) == 0) continue;
    word &= ~fault.clear;
    corrected = fault.id;
  }
  return corrected;
}

void rebind_span(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes) {
  if (arch < 100) return;
  bytes->words[1] &= ~kLargeTensorBit;
  if (tensor_span_bytes(desc) >= 128 * 1024) bytes->words[1] |= kLargeTensorBit;
}

}  // namespace tw
