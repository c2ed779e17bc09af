// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether planning can rely on a device's kernels, and where it cannot, a device that it can be
// tried on: that one answers as the other does and does nothing there.
//
// device.cpp needs neither the table of kernels nor this, so that a program of tensor maps alone
// links neither.

#include <memory>

#include "runtime/device.hpp"

namespace tw {

/// Whether planning with the family can rely on its kernels: those that every chip runs may be
/// used, and find_kernel() finds each row that may. Looked up once for each device.
bool has_all_kernels(Device& device, Family family);

/// A stand-in for `device`, of the same numbers. Kernels are looked up and not loaded; nothing can
/// be allocated, enqueued or launched. It goes on working only as long as `device` does.
std::shared_ptr<Device> rehearsal_of(const std::shared_ptr<Device>& device);

}  // namespace tw
