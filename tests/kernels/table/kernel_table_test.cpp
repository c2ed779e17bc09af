// SPDX-License-Identifier: Apache-2.0
// What holds for every row of every family's table.
#include "kernels/table/kernel_table.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "doctest_main.hpp"
#include "kernels/image/kernel_images.hpp"

using namespace tw;

namespace {

constexpr struct {
  Family family;
  int32_t shards;
} kFamilies[] = {
#define TW_FAMILY(name, value, shards) {Family::name, shards},
#include "kernels/families.inc"
#undef TW_FAMILY
};

}  // namespace

TEST_CASE("kernel_table: every row says what it needs, where it is and what it is called") {
  std::set<std::string> symbols;
  for (const auto& entry : kFamilies) {
    const Family family = entry.family;
    const int32_t shards = entry.shards;
    int host_rows = 0;
    std::set<int32_t> used;
    for (const KernelRow& row : kernel_rows(family)) {
      INFO(std::string(row.symbol));
      CHECK(row.family == family);
      CHECK(symbols.insert(row.symbol).second);
      CHECK(std::strncmp(row.symbol, family_name(family), std::strlen(family_name(family))) == 0);
      CHECK((row.feature & (row.feature - 1)) == 0);
      CHECK(row.feature != 0);
      CHECK(row.threads > 0);
      CHECK(row.threads <= 1024);
      if (row.feature == feature::host) {
        ++host_rows;
        CHECK(row.shard == -1);
        CHECK(bool(row.host));
      } else {
        CHECK(row.threads % 32 == 0);
        CHECK(row.shard >= 0);
        CHECK(row.shard < shards);
        CHECK(!row.host);
        used.insert(row.shard);
      }
    }
    INFO(std::string(family_name(family)));
    CHECK(host_rows > 0);
    CHECK(static_cast<int32_t>(used.size()) == shards);
  }
}

TEST_CASE("kernel_table: an image for every shard that this build has, and for no other") {
  for (const auto& entry : kFamilies) {
    const Family family = entry.family;
    const int32_t shards = entry.shards;
    const RowRange rows = kernel_rows(family);
    const bool whole = std::none_of(rows.begin(), rows.end(), kernel_left_out);
    const bool built = kernel_image(family, 0).size != 0;
    for (int32_t shard = 0; shard < shards; ++shard) {
      const bool chosen = std::any_of(rows.begin(), rows.end(), [shard](const KernelRow& row) {
        return row.shard == shard && !kernel_left_out(row);
      });
      CHECK((kernel_image(family, shard).size != 0) == (whole ? built : chosen));
    }
    CHECK(kernel_image(family, shards).size == 0);
  }
}
