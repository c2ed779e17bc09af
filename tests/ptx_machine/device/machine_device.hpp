// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device whose kernels are the PTX of sm_90a's, run on the CPU by the machine. Plans choose
// kernels for it as for a GPU. It does everything at once: a launch has ended when it returns.

#include <memory>
#include <set>
#include <string>

#include "runtime/device.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

/// Fails where no folder of TW_PTX_FOLDERS has PTX (<image>.sm_90a.ptx); the builds that nvcc takes
/// part in leave it there.
Status open_machine_device(std::shared_ptr<Device>* out);
/// What it says of itself.
DeviceInfo machine_info();
/// Clusters of its that run at once.
int32_t max_active_clusters(const LaunchConfig& config);

/// How launches of the device run from here on.
void set_options(Device& device, const Options& options);
/// What its launches have run so far, and the last one.
Statistics statistics(const Device& device);
Statistics last_launch(const Device& device);
/// Reports of severity `letter` of its launches.
std::set<std::string> letters(const Device& device);
/// Which kernels have run, in the order of their first launch.
std::vector<std::string> launched_kernels(const Device& device);

/// Where an image's PTX is; empty where it is nowhere.
std::string find_ptx(const std::string& image);
std::string read_file(const std::string& path);

}  // namespace tw::ptx_machine
