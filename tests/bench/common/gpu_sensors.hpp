// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conditions of a measurement: card, driver, date, temperature and clock, from NVML if present.

#include <string>

namespace tw::bench {

/// Values that nobody reports are empty or -1, printed as "missing" and null in JSON.
struct GpuConditions {
  std::string card;
  std::string driver;
  std::string date;  ///< UTC
  int celsius_before = -1, celsius_after = -1;
  int sm_megahertz_before = -1, sm_megahertz_after = -1;
};

/// As text, without a newline.
std::string conditions_text(const GpuConditions& conditions);
/// As a JSON object of kind "conditions", without a newline.
std::string conditions_json(const GpuConditions& conditions);

/// The sensors of one GPU. NVML is loaded at run time and needs no header, which few machines have.
class GpuSensors {
 public:
  /// `pci_bus_id` as the driver spells it. Without NVML or such a GPU only the date is reported.
  explicit GpuSensors(const std::string& pci_bus_id);
  GpuSensors(const GpuSensors&) = delete;
  GpuSensors& operator=(const GpuSensors&) = delete;

  /// The card, the driver, the date and the state before a measurement.
  GpuConditions before() const;
  /// Adds the state after it.
  void after(GpuConditions* conditions) const;
  /// Joules since the driver was loaded; 0 if the GPU has no counter.
  double joules() const;

 private:
  int celsius() const;
  int sm_megahertz() const;

  void* device_ = nullptr;
  int (*name_)(void*, char*, unsigned) = nullptr;
  int (*driver_)(char*, unsigned) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tw::bench
