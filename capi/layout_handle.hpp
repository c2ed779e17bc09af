// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout handle: a plain value that belongs to no device and never changes, so that any number
// of threads may use one. And what the bodies of the layout section share.

#include <memory>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "tilewright.h"

struct tw_layout {
  tw::Layout value;
};

namespace tw::capi {

/// Makes a handle whose layout `fill(Layout*)` writes; nothing is kept where that fails.
template <class Fill>
Status make_handle(tw_layout** out, Fill&& fill) {
  std::unique_ptr<tw_layout> handle(new tw_layout);
  TW_TRY(fill(&handle->value));
  *out = handle.release();
  return Code::OK;
}

/// Copies numbers into the caller's array of that name. ERROR_BUFFER_TOO_SMALL where it is short.
Status write_numbers(const int64_t* numbers, int count, int64_t* out, const char* argument,
                     int32_t capacity);

}  // namespace tw::capi
