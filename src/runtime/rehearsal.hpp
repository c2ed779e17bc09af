// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device that planning can be tried on: it answers as another one does and does nothing there.

#include <memory>

#include "runtime/device.hpp"

namespace tw {

/// A stand-in for `device`, of the same numbers. Kernels are looked up and not loaded; nothing can
/// be allocated, enqueued or launched. It goes on working only as long as `device` does.
std::shared_ptr<Device> rehearsal_of(const std::shared_ptr<Device>& device);

}  // namespace tw
