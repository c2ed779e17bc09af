// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_KERNELS_HPP
#define TILEWRIGHT_KERNELS_HPP
/// @file kernels.hpp
/// The kernels that are embedded in this build of the library: their list, their resources, and
/// their machine code or PTX. None of these functions needs a GPU.

#include <cstddef>
#include <string>
#include <vector>

#include <tilewright/tilewright.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {

/// A precompiled kernel, and one of the targets for which it is embedded.
struct KernelName {
  std::string name;    ///< the kernel's symbol
  std::string target;  ///< "sm_90a" for machine code, "compute_90" for PTX
};

/// One entry for each pair of a kernel and a target for which it is embedded. The strings in the
/// entries are static.
inline std::vector<tw_embedded_kernel> precompiled_kernels() {
  int32_t count = 0;
  check(tw_embedded_kernel_get(0, nullptr, &count));
  std::vector<tw_embedded_kernel> out(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    tw_embedded_kernel& entry = out[static_cast<size_t>(i)];
    check(tw_embedded_kernel_init(&entry, sizeof(entry)));
    check(tw_embedded_kernel_get(i, &entry, nullptr));
  }
  return out;
}

/// The registers, shared and local memory, and parameters that a kernel's machine code uses. Throws
/// for PTX, which has no registers before the driver compiles it.
inline tw_kernel_info precompiled_info(const KernelName& kernel) {
  return detail::filled(tw_kernel_info_init, tw_embedded_kernel_info,
                        detail::c_text(kernel.name, "name"),
                        detail::c_text(kernel.target, "target"));
}

/// The cubin or PTX text that contains the kernel, for a disassembler.
inline std::vector<std::byte> precompiled_image(const KernelName& kernel) {
  const char* const name = detail::c_text(kernel.name, "name");
  const char* const target = detail::c_text(kernel.target, "target");
  size_t size = 0;
  check(tw_embedded_kernel_image(name, target, nullptr, 0, &size));
  std::vector<std::byte> out(size);
  check(tw_embedded_kernel_image(name, target, out.data(), out.size(), &size));
  return out;
}

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_KERNELS_HPP
