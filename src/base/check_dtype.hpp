// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of descriptions that name types, refused in the same words by every operation.

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

/// Whether the field `argument` of a description names an element type. 0, which names none, is
/// what it has where nobody has set it.
/// @param rule the operation's id of the rule.
Status check_dtype(const char* argument, const char* rule, DType dtype);

/// Whether it names a type of indices or offsets, `what` of an operation: i32 or i64.
Status check_index_dtype(const char* argument, const char* rule, const char* what, DType dtype);

}  // namespace tw
