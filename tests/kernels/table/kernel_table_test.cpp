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
    int host_rows = 0;
    std::set<std::string> parts;
    for (const KernelEntry& row : kernel_entries(family)) {
      INFO(std::string(row.symbol));
      CHECK(row.family == family);
      CHECK(symbols.insert(row.symbol).second);
      CHECK(std::string(row.symbol).rfind(name, 0) == 0);
      CHECK((row.feature & (row.feature - 1)) == 0);
      CHECK(row.feature != 0);
      CHECK(row.threads > 0);
      CHECK(row.threads <= 1024);
      if (row.feature == feature::host) {
        ++host_rows;
        CHECK(!row.image);
        CHECK(bool(row.host));
      } else {
        CHECK(row.threads % 32 == 0);
        REQUIRE(bool(row.image));
        CHECK(std::string(row.image).rfind(name + "_", 0) == 0);
        CHECK(!row.host);
        parts.insert(row.image);
      }
    }
    INFO(name);
    CHECK(host_rows > 0);
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
    for (const KernelEntry& row : kernel_entries(family))
      if (row.image && !kernel_left_out(row)) wanted.insert(row.image);
  for (int32_t i = 0; const char* name = kernel_image_name(i); ++i) {
    INFO(std::string(name));
    CHECK(embedded.insert(name).second);
    CHECK(kernel_image(name).size != 0);
  }
  if (kernel_image_name(0)) CHECK(embedded == wanted);
  CHECK(kernel_image("gemm").size == 0);
  CHECK(kernel_image("none_0").size == 0);
}
