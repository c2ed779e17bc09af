// SPDX-License-Identifier: Apache-2.0
// Invariants of every kernel entry of every family's table.
#include "kernels/table/kernel_table.hpp"

#include <set>
#include <string>

#include "doctest_main.hpp"
#include "kernels/image/kernel_images.hpp"

using namespace tw;

namespace {

constexpr Family kFamilies[] = {
#define TW_FAMILY(name, value) Family::name,
#include "kernels/families.inc"
#undef TW_FAMILY
};

/// The part before this one in its translation unit: gemm_basic_1 for gemm_basic_2.
std::string part_before(const std::string& part) {
  const size_t number = part.rfind('_') + 1;
  return part.substr(0, number) + std::to_string(std::stoi(part.substr(number)) - 1);
}

}  // namespace

TEST_CASE("kernel_table: every row says what it needs, where it is and what it is called") {
  std::set<std::string> symbols;
  for (const Family family : kFamilies) {
    const std::string name = family_name(family);
    int host_entries = 0;
    std::set<std::string> parts;
    for (const KernelEntry& entry : kernel_entries(family)) {
      INFO(std::string(entry.symbol));
      CHECK(entry.family == family);
      CHECK(symbols.insert(entry.symbol).second);
      CHECK(std::string(entry.symbol).rfind(name, 0) == 0);
      CHECK((entry.feature & (entry.feature - 1)) == 0);
      CHECK(entry.feature != 0);
      CHECK(entry.threads > 0);
      CHECK(entry.threads <= 1024);
      if (entry.feature == feature::host) {
        ++host_entries;
        CHECK(!entry.image);
        CHECK(bool(entry.host));
      } else {
        CHECK(entry.threads % 32 == 0);
        REQUIRE(bool(entry.image));
        CHECK(std::string(entry.image).rfind(name + "_", 0) == 0);
        CHECK(!entry.host);
        parts.insert(entry.image);
      }
    }
    INFO(name);
    CHECK(host_entries > 0);
    CHECK(!parts.empty());
    for (const std::string& part : parts) {
      INFO(part);
      const bool first = part.compare(part.rfind('_'), part.npos, "_0") == 0;
      CHECK((first || parts.count(part_before(part)) == 1));
    }
  }
}

TEST_CASE("kernel_table: an image for every part that this build has, and for no other") {
  std::set<std::string> wanted, embedded;
  for (const Family family : kFamilies)
    for (const KernelEntry& entry : kernel_entries(family))
      if (entry.image && !kernel_left_out(entry)) wanted.insert(entry.image);
  for (int32_t i = 0; const char* name = kernel_image_name(i); ++i) {
    INFO(std::string(name));
    CHECK(embedded.insert(name).second);
    CHECK(kernel_image(name).size != 0);
  }
  if (kernel_image_name(0)) CHECK(embedded == wanted);
  CHECK(kernel_image("gemm").size == 0);
  CHECK(kernel_image("none_0").size == 0);
}
