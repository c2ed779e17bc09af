// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a figure was measured under: card, driver, date, temperature and clock, by NVML where it is.

#include <string>

namespace tw::bench {

/// What nobody reports is empty or -1; it is printed as "missing" and written as null.
struct GpuConditions {
  std::string card;
  std::string driver;
  std::string date;  ///< UTC
  int celsius_before = -1, celsius_after = -1;
  int sm_megahertz_before = -1, sm_megahertz_after = -1;
};

/// A line for people, without a newline.
std::string conditions_text(const GpuConditions& conditions);
/// A JSON object of the kind "conditions", without a newline.
std::string conditions_json(const GpuConditions& conditions);

/// The sensors of one GPU. NVML is loaded at run time, without a header, which few machines have.
class GpuSensors {
 public:
  /// As the driver spells the bus id. Without NVML, or without such a GPU, nothing is reported.
  explicit GpuSensors(const std::string& pci_bus_id);
  GpuSensors(const GpuSensors&) = delete;
  GpuSensors& operator=(const GpuSensors&) = delete;

  /// The card, the driver, the date and the state before a measurement.
  GpuConditions before() const;
  /// Adds the state after it.
  void after(GpuConditions* conditions) const;
  /// Joules since the driver was loaded; 0 where nobody counts them.
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
