// SPDX-License-Identifier: Apache-2.0
#include "base/feature.hpp"

#include <cstring>

#include "doctest_main.hpp"

namespace tw {
namespace {

TEST_CASE("features of compute capabilities") {
  CHECK(features_of(8, 0) == 0);
  CHECK(features_of(8, 9) == 0);
  CHECK(features_of(0, 0) == 0);
  CHECK(features_of(9, 0) == (feature::tma | feature::mma | feature::wgmma));
  CHECK((features_of(10, 0) & feature::scatter4) != 0);
  CHECK((features_of(12, 0) & feature::scatter4) == 0);
  CHECK((features_of(12, 0) & feature::gather4) != 0);
  // Arch-specific instructions (sm_90a, sm_100a) do not exist on later chips.
  CHECK((features_of(10, 0) & feature::wgmma) == 0);
  CHECK((features_of(9, 0) & feature::tcgen05) == 0);
}

TEST_CASE("an unlisted capability has what its PTX base guarantees") {
  CHECK(features_of(13, 0) == (feature::tma | feature::mma));
  CHECK(features_of(12, 1) != 0);
}

TEST_CASE("no CUDA device runs host rows") {
  for (int major = 0; major < 20; ++major)
    for (int minor = 0; minor < 10; ++minor)
      CHECK((features_of(major, minor) & feature::host) == 0);
}

TEST_CASE("names") {
  CHECK(std::strcmp(feature_name(feature::wgmma), "wgmma") == 0);
  CHECK(std::strcmp(feature_name(feature::tma | feature::wgmma), "tma") == 0);
  CHECK(std::strcmp(feature_name(0), "none") == 0);
}

}  // namespace
}  // namespace tw
