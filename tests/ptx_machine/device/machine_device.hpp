// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Device of the library that runs the PTX of the sm_90a kernels on the machine. Plans choose
// kernels for it as for a GPU. Every operation is synchronous: a launch has ended when it returns.

#include <memory>
#include <set>
#include <string>

#include "runtime/device.hpp"
#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

/// Fails if no folder of TW_PTX_FOLDERS has nvcc's PTX files (<image>.sm_90a.ptx).
Status open_machine_device(std::shared_ptr<Device>* out);
DeviceInfo machine_info();
/// Clusters that the device claims to run at once.
int32_t max_active_clusters(const LaunchConfig& config);

/// Sets the options of later launches.
void set_options(Device& device, const Options& options);
/// Statistics of all launches so far, and of the last one.
Statistics statistics(const Device& device);
Statistics last_launch(const Device& device);
/// Reports of severity `letter` of its launches.
std::set<std::string> letters(const Device& device);
/// Kernels that have run, in the order of their first launch.
std::vector<std::string> launched_kernels(const Device& device);

/// Path of an image's PTX file; empty if there is none.
std::string find_ptx(const std::string& image);
std::string read_file(const std::string& path);

}  // namespace tw::ptx_machine
