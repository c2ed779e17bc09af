// SPDX-License-Identifier: Apache-2.0
// What needs the code of the devices or the table of kernels. device.cpp needs neither, so that a
// program of tensor maps alone links neither.
#include "runtime/device.hpp"

namespace tw {

bool Device::has_all_kernels(Family family) {
  const uint32_t bit = 1u << static_cast<uint32_t>(family);
  if ((families_looked_.load(std::memory_order_acquire) & bit) == 0) {
    if (find_all_kernels(family)) families_whole_.fetch_or(bit, std::memory_order_relaxed);
    families_looked_.fetch_or(bit, std::memory_order_release);
  }
  return (families_whole_.load(std::memory_order_relaxed) & bit) != 0;
}

bool Device::find_all_kernels(Family family) {
  constexpr FeatureMask kEverywhere = feature::tma | feature::mma;
  const FeatureMask usable = info_.kernel_features;
  if ((usable & feature::host) == 0 && (usable & kEverywhere) != kEverywhere) return false;
  const KeptErrors kept;  // what is missing is no failure
  for (const KernelRow& row : kernel_rows(family))
    if ((row.feature & usable) != 0 && !find_kernel(row).ok()) return false;
  return true;
}

Status count_devices(DeviceKind kind, int32_t* count) {
  if (kind == DeviceKind::cuda) return count_cuda_devices(count);
  *count = 1;
  return Code::OK;
}

Status open_device(DeviceKind kind, int32_t ordinal, std::shared_ptr<Device>* out) {
  if (kind == DeviceKind::cuda) return open_cuda_device(ordinal, out);
  if (ordinal != 0)
    return fail(Code::ERROR_NO_DEVICE, {.argument = "ordinal", .got = ordinal, .limit = 0},
                "ordinal is %d: there is one host device, number 0", ordinal);
  return open_host_device(out);
}

}  // namespace tw
