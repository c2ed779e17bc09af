// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/driver_choice.hpp"

#include <cstring>

#include "kernels/image/kernel_images.hpp"

namespace tw {
namespace {

/// "sm_90a" runs on 9.0 only. "sm_100f" and "sm_100" run on chips of the same major and at least
/// that minor number. PTX without a letter runs on all later chips.
bool runs_on(const Target& target, const ChipCode& chip) {
  const auto capability = static_cast<uint32_t>(chip.major * 10 + chip.minor);
  const char letter = target.name[std::strlen(target.name) - 1];
  if (chip.ptx_only && !target.ptx) return false;
  if (letter == 'a') return target.sm == capability;
  if (target.ptx && letter != 'f') return target.sm <= capability;
  return target.sm / 10 == capability / 10 && target.sm <= capability;
}

/// The first CUDA toolkit with this PTX version (PTX ISA 9.0, release notes): 8.0 to 8.5 came with
/// 12.0 to 12.5, 8.6 to 8.8 with 12.7 to 12.9, 9.0 with 13.0. Later versions are assumed to
/// continue like this.
int32_t toolkit_of_ptx(const uint16_t (&version)[2]) {
  const int32_t minor = version[0] == 8 && version[1] >= 6 ? version[1] + 1 : version[1];
  return (version[0] + 4) * 1000 + minor * 10;
}

}  // namespace

DriverChoice driver_choice(const void* fatbin, size_t size, const ChipCode& chip) {
  DriverChoice choice;
  for (const Target& target : targets()) {
    FatbinEntry entry;
    if (!find_entry(fatbin, size, target, &entry)) continue;
    if (target.ptx) choice.toolkit = toolkit_of_ptx(entry.version);
    // The driver prefers machine code to PTX, in any order of entries.
    if (runs_on(target, chip) && (!choice.target || choice.target->ptx)) choice.target = &target;
  }
  return choice;
}

int32_t oldest_driver(const void* fatbin, size_t size, const Target& target) {
  DriverChoice choice = driver_choice(fatbin, size, {});
  choice.target = &target;
  return choice.oldest_driver();
}

FeatureMask embedded_features(const ChipCode& chip) {
  FeatureMask common = ~FeatureMask{0};
  bool some = false;
  for (int32_t i = 0; const char* name = kernel_image_name(i); ++i) {
    const KernelImage image = kernel_image(name);
    const DriverChoice choice = driver_choice(image.data, image.size, chip);
    if (!choice.target) continue;
    common &= choice.target->features;
    some = true;
  }
  return some ? common : 0;
}

const Target* target_for(FeatureMask feature, const ChipCode& chip) {
  for (const Target& target : targets())
    if (!target.ptx && (target.features & feature) && runs_on(target, chip)) return &target;
  return nullptr;
}

}  // namespace tw
