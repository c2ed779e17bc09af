// SPDX-License-Identifier: Apache-2.0
// Opening a CUDA device on a machine without a GPU or in a build without CUDA.
#include "host_fixture.hpp"

namespace tw::test {
namespace {

TEST_CASE("without a driver the CUDA device is a clear error") {
  int32_t count = -1;
  const Status counted = count_devices(DeviceKind::cuda, &count);
  if (counted.ok() && count > 0) return skip("this machine has a GPU");
  std::shared_ptr<Device> device;
  const Status opened = open_device(DeviceKind::cuda, 0, &device);
  CHECK_FALSE(opened.ok());
  CHECK(device == nullptr);
  CAPTURE(last_failure().message);
  if (opened.code() == Code::ERROR_NO_DRIVER) {
    CHECK(message_has("libcuda.so.1"));
  } else if (opened.code() == Code::ERROR_NOT_BUILT) {
    CHECK(message_has("-Dcuda=enabled"));
  } else {
    CHECK(opened.code() == Code::ERROR_NO_DEVICE);
  }
  CHECK(open_cuda_context(reinterpret_cast<CUctx_st*>(16), &device).code() == opened.code());
}

}  // namespace
}  // namespace tw::test
