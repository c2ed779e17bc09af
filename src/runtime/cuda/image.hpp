// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a module image (fatbin, cubin or PTX) against its size. The driver takes a pointer without
// a size, so it would read past the end of a truncated image. Needs neither driver nor toolkit.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace tw {

enum class ImageKind { fatbin, cubin, ptx };

struct ImageSummary {
  ImageKind kind = ImageKind::ptx;
  bool has_ptx = false;
  char contents[192] = {};  ///< such as "sm_90 code, compute_90 PTX"; truncated if too long
};

/// Checks magic numbers, lengths and the bounds of entries and sections. Fails with
/// ERROR_INVALID_IMAGE and the offset. PTX may end with one zero byte but need not.
Status check_image(const void* image, size_t size, ImageSummary* summary);

}  // namespace tw
