// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/common/gpu_sensors.hpp"

#include "doctest_main.hpp"

namespace tw::bench {
namespace {

TEST_CASE("conditions are printed, and what is missing is said to be") {
  GpuConditions c{"NVIDIA H200", "580.159.04", "2026-11-26T00:00:00Z", 31, 62, 1980, -1};
  CHECK(conditions_text(c) ==
        "card NVIDIA H200, driver 580.159.04, 2026-11-26T00:00:00Z; before and after: 31 C and "
        "62 C, SM clock 1980 MHz and missing");
  CHECK(conditions_json(c) ==
        "{\"kind\": \"conditions\", \"card\": \"NVIDIA H200\", \"driver\": \"580.159.04\", "
        "\"date\": \"2026-11-26T00:00:00Z\", \"celsius_before\": 31, \"celsius_after\": 62, "
        "\"sm_megahertz_before\": 1980, \"sm_megahertz_after\": null}");
  c.card = "";
  c.driver = "a \"b\" \\\n";
  CHECK(conditions_text(c).find("card missing, ") == 0);
  CHECK(conditions_json(c).find("\"card\": null, \"driver\": \"a \\\"b\\\" \\\\\"") !=
        std::string::npos);
}

TEST_CASE("a GPU that is not there reports a date alone") {
  const GpuSensors sensors("ffff:ff:1f.0");
  GpuConditions c = sensors.before();
  sensors.after(&c);
  CHECK(c.date.size() == 20);
  CHECK(c.card.empty());
  CHECK(c.celsius_before == -1);
  CHECK(c.sm_megahertz_after == -1);
  CHECK(sensors.joules() == 0);
}

}  // namespace
}  // namespace tw::bench
