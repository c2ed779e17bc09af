// SPDX-License-Identifier: Apache-2.0
// Replaces open_cuda.cpp, and everything that it needs, in a build without CUDA.
#include "runtime/cuda/open_cuda.hpp"

namespace tw {
namespace {

Status not_built() {
  return fail(Code::ERROR_NOT_BUILT, {},
              "this build of the library has no CUDA device: configure it with -Dcuda=enabled");
}

}  // namespace

Status count_cuda_devices(int32_t*) {
  return not_built();
}
Status open_cuda_device(int32_t, std::shared_ptr<Device>*) {
  return not_built();
}
Status open_cuda_context(CUctx_st*, std::shared_ptr<Device>*) {
  return not_built();
}

}  // namespace tw
