// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a module image is, held against its size before the driver, which takes none, reads it.
//
// Pure functions over bytes; needs neither driver nor toolkit.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace tw {

enum class ImageKind { fatbin, cubin, ptx };

struct ImageSummary {
  ImageKind kind = ImageKind::ptx;
  bool has_ptx = false;
  char contents[192] = {};  ///< "sm_90 code, compute_90 PTX", cut where it is long
};

/// Checks magic numbers, lengths and the bounds of entries and sections. Every failure is
/// ERROR_INVALID_IMAGE with the offset and the numbers. For PTX, one zero at the end is allowed
/// and none is needed.
Status check_image(const void* image, size_t size, ImageSummary* summary);

}  // namespace tw
