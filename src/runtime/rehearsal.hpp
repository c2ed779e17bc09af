// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tells whether all kernels of a family are usable on a device. If some are not, planning can be
// tried on a rehearsal device, which loads and allocates nothing. Planning succeeds or fails on it
// as on the device itself, but only the driver knows whether a cluster of a kernel fits the SMs.
//
// This is not in device.cpp, so that a program that only makes tensor maps does not link the
// kernel table.

#include <memory>

#include "runtime/device.hpp"

namespace tw {

/// Whether planning can rely on all kernels of the family. For that, DeviceInfo::kernel_features
/// must have tma and mma, which every supported chip has (the host device needs neither), and
/// find_kernel() must succeed for each kernel entry whose feature is in kernel_features. The answer
/// is cached per device.
bool has_all_kernels(Device& device, Family family);

/// Makes the rehearsal device: a stand-in with the DeviceInfo of `device`. It looks kernels up
/// without loading them and encodes tensor maps through `device`; every other call fails. It holds
/// `device` and works only while that is alive.
std::shared_ptr<Device> make_rehearsal_device(const std::shared_ptr<Device>& device);

}  // namespace tw
