// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/common/gpu_sensors.hpp"

#include <dlfcn.h>

#include <ctime>

namespace tw::bench {
namespace {

constexpr int kGpuTemperature = 0;
constexpr int kSmClock = 1;

std::string number(int value, const char* unit) {
  return value < 0 ? "missing" : std::to_string(value) + unit;
}

std::string number_json(int value) {
  return value < 0 ? "null" : std::to_string(value);
}

std::string words_json(const std::string& words) {
  if (words.empty()) return "null";
  std::string quoted = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= ' ') quoted += c;
  }
  return quoted + "\"";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts;
  char text[32] = "";
  if (gmtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

template <class Function>
void find_symbol(void* library, const char* symbol, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, symbol));
}

}  // namespace

std::string conditions_text(const GpuConditions& c) {
  const auto words = [](const std::string& text) { return text.empty() ? "missing" : text; };
  return "card " + words(c.card) + ", driver " + words(c.driver) + ", " + words(c.date) +
         "; before and after: " + number(c.celsius_before, " C") + " and " +
         number(c.celsius_after, " C") + ", SM clock " + number(c.sm_megahertz_before, " MHz") +
         " and " + number(c.sm_megahertz_after, " MHz");
}

std::string conditions_json(const GpuConditions& c) {
  return "{\"kind\": \"conditions\", \"card\": " + words_json(c.card) +
         ", \"driver\": " + words_json(c.driver) + ", \"date\": " + words_json(c.date) +
         ", \"celsius_before\": " + number_json(c.celsius_before) +
         ", \"celsius_after\": " + number_json(c.celsius_after) +
         ", \"sm_megahertz_before\": " + number_json(c.sm_megahertz_before) +
         ", \"sm_megahertz_after\": " + number_json(c.sm_megahertz_after) + "}";
}

GpuSensors::GpuSensors(const std::string& pci_bus_id) {
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!nvml) return;
  int (*init)() = nullptr;
  int (*find)(const char*, void**) = nullptr;
  find_symbol(nvml, "nvmlInit_v2", &init);
  find_symbol(nvml, "nvmlDeviceGetHandleByPciBusId_v2", &find);
  if (!init || !find || init() != 0) return;
  if (find(pci_bus_id.c_str(), &device_) != 0) {
    device_ = nullptr;
    return;
  }
  find_symbol(nvml, "nvmlDeviceGetName", &name_);
  find_symbol(nvml, "nvmlSystemGetDriverVersion", &driver_);
  find_symbol(nvml, "nvmlDeviceGetTemperature", &temperature_);
  find_symbol(nvml, "nvmlDeviceGetClockInfo", &clock_);
  find_symbol(nvml, "nvmlDeviceGetTotalEnergyConsumption", &energy_);
}

GpuConditions GpuSensors::before() const {
  GpuConditions conditions;
  char text[96] = "";
  if (name_ && name_(device_, text, sizeof text) == 0) conditions.card = text;
  if (driver_ && driver_(text, sizeof text) == 0) conditions.driver = text;
  conditions.date = utc_now();
  conditions.celsius_before = celsius();
  conditions.sm_megahertz_before = sm_megahertz();
  return conditions;
}

void GpuSensors::after(GpuConditions* conditions) const {
  conditions->celsius_after = celsius();
  conditions->sm_megahertz_after = sm_megahertz();
}

double GpuSensors::joules() const {
  unsigned long long millijoules = 0;
  if (!energy_ || energy_(device_, &millijoules) != 0) return 0;
  return static_cast<double>(millijoules) * 1e-3;
}

int GpuSensors::celsius() const {
  unsigned value = 0;
  return temperature_ && temperature_(device_, kGpuTemperature, &value) == 0
             ? static_cast<int>(value)
             : -1;
}

int GpuSensors::sm_megahertz() const {
  unsigned value = 0;
  return clock_ && clock_(device_, kSmClock, &value) == 0 ? static_cast<int>(value) : -1;
}

}  // namespace tw::bench
