// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/driver_choice.hpp"

#include <string>

#include "doctest_main.hpp"
#include "kernels/image/kernel_images.hpp"
#include "tests/runtime/test_images.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr uint16_t kPtx = 1, kElf = 2;

Image empty_fatbin() {
  Image fatbin(16);
  put<uint32_t>(&fatbin, 0, 0xba55ed50);
  put<uint16_t>(&fatbin, 4, 1);
  put<uint16_t>(&fatbin, 6, 16);
  return fatbin;
}

/// The name of the target that a driver chooses.
std::string taken(const Image& fatbin, int major, int minor, bool ptx_only = false) {
  const Target* target =
      driver_choice(fatbin.data(), fatbin.size(), {major, minor, ptx_only}).target;
  return target ? target->name : "";
}

}  // namespace

TEST_CASE("driver_choice: machine code of the chip or its family, else older PTX, in any order") {
  for (const bool ptx_first : {false, true}) {
    Image fatbin = empty_fatbin();
    if (ptx_first) add_fatbin_entry(&fatbin, kPtx, 90, Image(8));
    add_fatbin_entry(&fatbin, kElf, 90, Image(8));
    add_fatbin_entry(&fatbin, kElf, 100, Image(8));
    if (!ptx_first) add_fatbin_entry(&fatbin, kPtx, 90, Image(8));
    CHECK(taken(fatbin, 8, 9) == "");
    CHECK(taken(fatbin, 9, 0) == "sm_90a");
    CHECK(taken(fatbin, 9, 1) == "compute_90");
    CHECK(taken(fatbin, 10, 0) == "sm_100f");
    CHECK(taken(fatbin, 10, 3) == "sm_100f");
    for (const int major : {11, 12, 13})
      for (const int minor : {0, 1}) CHECK(taken(fatbin, major, minor) == "compute_90");
    for (const int major : {9, 10, 12}) CHECK(taken(fatbin, major, 0, true) == "compute_90");
  }
}

TEST_CASE("driver_choice: what is not there is not taken") {
  Image fatbin = empty_fatbin();
  CHECK(taken(fatbin, 9, 0) == "");
  add_fatbin_entry(&fatbin, kElf, 90, Image(8));
  CHECK(taken(fatbin, 9, 0) == "sm_90a");
  CHECK(taken(fatbin, 9, 0, true) == "");
  CHECK(taken(fatbin, 10, 0) == "");
  CHECK(taken(fatbin, 12, 0) == "");
  CHECK(driver_choice(nullptr, 0, {9, 0, false}).target == nullptr);
  for (size_t size = 0; size < fatbin.size(); ++size)
    CHECK(driver_choice(fatbin.data(), size, {9, 0, false}).target == nullptr);
}

TEST_CASE("driver_choice: machine code needs a driver of its major version, PTX of its own") {
  struct {
    uint16_t major, minor;  // PTX version
    int32_t toolkit;
  } const versions[] = {{8, 0, 12000}, {8, 4, 12040}, {8, 5, 12050}, {8, 6, 12070},
                        {8, 7, 12080}, {8, 8, 12090}, {9, 0, 13000}, {9, 1, 13010}};
  for (const auto& v : versions) {
    Image fatbin = empty_fatbin();
    add_fatbin_entry(&fatbin, kElf, 90, Image(8));
    const size_t entry = fatbin.size();
    add_fatbin_entry(&fatbin, kPtx, 90, Image(8));
    put<uint16_t>(&fatbin, entry + 24, v.minor);
    put<uint16_t>(&fatbin, entry + 26, v.major);
    const DriverChoice code = driver_choice(fatbin.data(), fatbin.size(), {9, 0, false});
    const DriverChoice ptx = driver_choice(fatbin.data(), fatbin.size(), {12, 0, false});
    INFO("PTX ", v.major, ".", v.minor);
    CHECK(code.toolkit == v.toolkit);
    CHECK(code.oldest_driver() == v.toolkit / 1000 * 1000);
    CHECK(ptx.toolkit == v.toolkit);
    CHECK(ptx.oldest_driver() == v.toolkit);
    CHECK(oldest_driver(fatbin.data(), fatbin.size(), *code.target) == v.toolkit / 1000 * 1000);
    CHECK(oldest_driver(fatbin.data(), fatbin.size(), *ptx.target) == v.toolkit);
  }
  // Without PTX the required driver version is unknown: the driver decides.
  Image fatbin = empty_fatbin();
  add_fatbin_entry(&fatbin, kElf, 90, Image(8));
  CHECK(driver_choice(fatbin.data(), fatbin.size(), {9, 0, false}).oldest_driver() == 0);
}

TEST_CASE("driver_choice: the target that would bring a feature to a chip") {
  const auto name = [](FeatureMask feature, int major, int minor) -> std::string {
    const Target* target = target_for(feature, {major, minor, false});
    return target ? target->name : "";
  };
  CHECK(name(feature::wgmma, 9, 0) == "sm_90a");
  CHECK(name(feature::tma, 9, 0) == "sm_90a");
  CHECK(name(feature::gather4, 9, 0) == "");
  CHECK(name(feature::gather4, 10, 3) == "sm_100f");
  CHECK(name(feature::scatter4, 11, 0) == "");
  CHECK(name(feature::gather4, 12, 0) == "");
}

TEST_CASE("driver_choice: this build's kernels use no more than their targets have") {
  for (int major = 9; major < 14; ++major)
    for (const int minor : {0, 1, 3, 5})
      for (const bool ptx_only : {false, true}) {
        const FeatureMask has = embedded_features({major, minor, ptx_only});
        const bool embeds = kernel_image("copy_0").size != 0;
        // Every build with kernels has PTX for 9.0, unless -Dkernels left these kernels out.
        if (embeds || !kernel_left_out(*kernel_entries(Family::copy).begin()))
          CHECK((has & (feature::tma | feature::mma)) ==
                (embeds ? feature::tma | feature::mma : FeatureMask{0}));
        if (major != 9 || minor != 0 || ptx_only) CHECK((has & feature::wgmma) == 0);
        if (major != 10 || ptx_only) CHECK((has & feature::gather4) == 0);
        CHECK((has & feature::host) == 0);
      }
}
