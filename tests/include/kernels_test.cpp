// SPDX-License-Identifier: Apache-2.0
// The table of precompiled kernels through the C++ functions; it may be empty.
#include <algorithm>
#include <cstring>
#include <string>
#include <tilewright/kernels.hpp>

#include "doctest_main.hpp"

namespace {

using namespace tilewright;

tw_status status_of(const KernelName& kernel, bool image) {
  try {
    image ? (void)precompiled_image(kernel) : (void)precompiled_info(kernel);
  } catch (const Error& error) {
    return error.status();
  }
  return TW_OK;
}

TEST_CASE("every target's first kernel has an image, and machine code its resources") {
  const std::vector<tw_embedded_kernel> all = precompiled_kernels();
  int32_t count = -1;
  check(tw_embedded_kernel_get(0, nullptr, &count));
  CHECK(static_cast<size_t>(count) == all.size());
  std::vector<std::string> seen;
  for (const tw_embedded_kernel& entry : all) {
    const KernelName kernel{entry.name, entry.target};
    if (std::find(seen.begin(), seen.end(), kernel.target) != seen.end()) continue;
    seen.push_back(kernel.target);
    CAPTURE(kernel.name);
    CAPTURE(kernel.target);
    const std::vector<std::byte> image = precompiled_image(kernel);
    CHECK(image.size() == entry.image_bytes);
    if (kernel.target.starts_with("compute_")) {
      const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
      CHECK(text.find(".entry " + kernel.name) != std::string::npos);
      CHECK(status_of(kernel, false) == TW_ERROR_UNSUPPORTED);
    } else {
      REQUIRE(image.size() > 4);
      CHECK(std::memcmp(image.data(),
                        "\x7f"
                        "ELF",
                        4) == 0);
      CHECK(precompiled_info(kernel).registers > 0);
    }
  }
}

TEST_CASE("unknown kernels are refused by name") {
  CHECK(status_of({"no_such_kernel", "sm_90a"}, true) == TW_ERROR_NOT_FOUND);
  CHECK(status_of({"no_such_kernel", "sm_90a"}, false) == TW_ERROR_NOT_FOUND);
  // A name must not become a known one by truncation at a NUL.
  const std::vector<tw_embedded_kernel> all = precompiled_kernels();
  const std::string zero(1, '\0');
  for (size_t i = 0; i < std::min<size_t>(all.size(), 1); ++i)
    for (const bool image : {true, false}) {
      const KernelName known{all[i].name, all[i].target};
      CHECK(status_of({known.name + zero, known.target}, image) == TW_ERROR_INVALID_ARGUMENT);
      CHECK(status_of({known.name, known.target + zero}, image) == TW_ERROR_INVALID_ARGUMENT);
    }
}

}  // namespace
