// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of a description's fields, by the names that rules and messages use.

#include <cstddef>
#include <cstdint>

#include "tensor_map/rules/rules.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

using FieldMask = uint32_t;

namespace field {
enum Index : int32_t {
#define TW_SCALAR(name) index_##name,
#define TW_ARRAY(name, entries) index_##name,
#include "tensor_map/rules/fields.inc"
#undef TW_SCALAR
#undef TW_ARRAY
};
#define TW_SCALAR(name) inline constexpr FieldMask name = 1u << index_##name;
#define TW_ARRAY(name, entries) inline constexpr FieldMask name = 1u << index_##name;
#include "tensor_map/rules/fields.inc"
#undef TW_SCALAR
#undef TW_ARRAY
}  // namespace field

/// The fields named by the broken rules.
FieldMask named_fields(const Violations& violations);

/// The fields in which two descriptions differ. Array elements beyond their ranks are ignored.
FieldMask changed_fields(const TensorMapDesc& a, const TensorMapDesc& b);

/// Writes "With box_dim {64, 128} and swizzle 3 it would be accepted". If `proposed` is nullptr,
/// writes that no other values help.
void format_proposal(const TensorMapDesc& desc, const TensorMapDesc* proposed, char* buffer,
                     size_t capacity);

}  // namespace tw
