// SPDX-License-Identifier: Apache-2.0
#include "runtime/open/open_device.hpp"

#include "runtime/host/host_device.hpp"

namespace tw {

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
