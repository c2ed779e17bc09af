// SPDX-License-Identifier: Apache-2.0
// Every function of the layout section refuses NULL, names the argument, and clears its outputs.
#include <tilewright/tilewright.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include "doctest_main.hpp"

namespace {

// An output handle: a pointer to a pointer to a non-const handle.
template <class T>
inline constexpr bool is_handle_out =
    std::is_pointer_v<T>&& std::is_pointer_v<std::remove_pointer_t<T>> &&
    !std::is_const_v<std::remove_pointer_t<std::remove_pointer_t<T>>>;

template <class T>
struct Slot {
  std::conditional_t<is_handle_out<T>, std::remove_pointer_t<T>, int> value{};
  T argument() {
    if constexpr (is_handle_out<T>) {
      value = reinterpret_cast<std::remove_pointer_t<T>>(this);
      return &value;
    } else {
      return T{};
    }
  }
  bool is_clear() const {
    if constexpr (is_handle_out<T>) return value == nullptr;
    return true;
  }
};

/// Calls the function with all arguments NULL or 0, then with only the output handles set.
template <class... Args>
void check(const char* name, tw_status (*function)(Args...)) {
  CAPTURE(name);
  CHECK(function(Args{}...) == TW_ERROR_INVALID_ARGUMENT);
  CHECK(std::string(tw_last_error()).find("is NULL") != std::string::npos);
  if constexpr ((is_handle_out<Args> || ...)) {
    std::tuple<Slot<Args>...> slots;
    const tw_status status =
        std::apply([&](auto&... slot) { return function(slot.argument()...); }, slots);
    CHECK(status == TW_ERROR_INVALID_ARGUMENT);
    CHECK(std::apply([](const auto&... slot) { return (slot.is_clear() && ...); }, slots));
  }
}

#define CHECK_NULL(function) check(#function, function)

}  // namespace

TEST_CASE("NULL is refused by name and handles that come out are cleared") {
  CHECK_NULL(tw_tuple_parse);
  CHECK_NULL(tw_tuple_create);
  CHECK_NULL(tw_tuple_format);
  CHECK_NULL(tw_tuple_values);
  CHECK_NULL(tw_tuple_product);
  CHECK_NULL(tw_tuple_congruent);
  CHECK_NULL(tw_tuple_weakly_congruent);
  CHECK_NULL(tw_tuple_compatible);
  CHECK_NULL(tw_tuple_elem_less);
  CHECK_NULL(tw_tuple_prefix_product);
  CHECK_NULL(tw_tuple_inner_product);
  CHECK_NULL(tw_tuple_shape_div);
  CHECK_NULL(tw_tuple_ceil_div);
  CHECK_NULL(tw_tiler_parse);
  CHECK_NULL(tw_tiler_create);
  CHECK_NULL(tw_tiler_from_layout);
  CHECK_NULL(tw_tiler_by_mode);
  CHECK_NULL(tw_tiler_format);
  CHECK_NULL(tw_layout_make_left);
  CHECK_NULL(tw_layout_make_right);
  CHECK_NULL(tw_layout_make_ordered);
  CHECK_NULL(tw_layout_make_like);
  CHECK_NULL(tw_layout_make_identity);
  CHECK_NULL(tw_layout_make_tv);
  CHECK_NULL(tw_layout_domain_distribute);
  CHECK_NULL(tw_layout_shape);
  CHECK_NULL(tw_layout_stride);
  CHECK_NULL(tw_layout_swizzle);
  CHECK_NULL(tw_layout_at);
  CHECK_NULL(tw_layout_at_coord);
  CHECK_NULL(tw_layout_is_injective);
  CHECK_NULL(tw_layout_is_surjective);
  CHECK_NULL(tw_layout_is_contiguous);
  CHECK_NULL(tw_layout_max_alignment);
  CHECK_NULL(tw_layout_max_common_vector);
  CHECK_NULL(tw_layout_coalesce);
  CHECK_NULL(tw_layout_filter);
  CHECK_NULL(tw_layout_filter_zeros);
  CHECK_NULL(tw_layout_flatten);
  CHECK_NULL(tw_layout_group_modes);
  CHECK_NULL(tw_layout_append);
  CHECK_NULL(tw_layout_prepend);
  CHECK_NULL(tw_layout_replace);
  CHECK_NULL(tw_layout_select);
  CHECK_NULL(tw_layout_take);
  CHECK_NULL(tw_layout_composition);
  CHECK_NULL(tw_layout_composition_tiler);
  CHECK_NULL(tw_layout_complement);
  CHECK_NULL(tw_layout_right_inverse);
  CHECK_NULL(tw_layout_left_inverse);
  CHECK_NULL(tw_layout_logical_divide);
  CHECK_NULL(tw_layout_zipped_divide);
  CHECK_NULL(tw_layout_tiled_divide);
  CHECK_NULL(tw_layout_flat_divide);
  CHECK_NULL(tw_layout_logical_product);
  CHECK_NULL(tw_layout_zipped_product);
  CHECK_NULL(tw_layout_tiled_product);
  CHECK_NULL(tw_layout_flat_product);
  CHECK_NULL(tw_layout_blocked_product);
  CHECK_NULL(tw_layout_raked_product);
  CHECK_NULL(tw_layout_tile_to_shape);
  CHECK_NULL(tw_layout_max_common_layout);
  CHECK_NULL(tw_layout_nullspace);
  CHECK_NULL(tw_layout_slice);
  CHECK_NULL(tw_layout_dice);
  CHECK_NULL(tw_layout_domain_offset);
  CHECK_NULL(tw_layout_tile);
  CHECK_NULL(tw_layout_local_partition);
  CHECK_NULL(tw_layout_add_swizzle);
  CHECK_NULL(tw_layout_remove_swizzle);
  CHECK_NULL(tw_swizzle_apply);
  CHECK_NULL(tw_swizzle_recast);
  CHECK_NULL(tw_layout_upcast);
  CHECK_NULL(tw_layout_downcast);
  CHECK_NULL(tw_layout_recast);
  CHECK_NULL(tw_layout_partition_tv);
  CHECK_NULL(tw_layout_partition_tma);
  CHECK_NULL(tw_layout_bank_passes);
  CHECK_NULL(tw_layout_default_shared);
  CHECK_NULL(tw_layout_draw);
  CHECK_NULL(tw_layout_draw_tv);
  CHECK_NULL(tw_layout_draw_boxes);
  CHECK_NULL(tw_linear_parse);
  CHECK_NULL(tw_linear_format);
  CHECK_NULL(tw_linear_blocked);
  CHECK_NULL(tw_linear_slice);
  CHECK_NULL(tw_linear_resize);
  CHECK_NULL(tw_linear_compose);
  CHECK_NULL(tw_linear_inverse);
  CHECK_NULL(tw_linear_at);
  CHECK_NULL(tw_linear_from_layout);
  CHECK_NULL(tw_linear_to_layout);
  CHECK_NULL(tw_linear_gather4);
  tw_tuple_destroy(nullptr);
  tw_tiler_destroy(nullptr);
  tw_linear_destroy(nullptr);
}

TEST_CASE("pictures through the C API, in two steps") {
  tw_layout* layout = nullptr;
  REQUIRE(tw_layout_parse("(8,8):(8,1)", &layout) == TW_OK);
  size_t length = 0;
  REQUIRE(tw_layout_draw(layout, TW_PAINT_BANKS, 16, nullptr, 0, &length) == TW_OK);
  std::string svg(length, '\0');
  REQUIRE(tw_layout_draw(layout, TW_PAINT_BANKS, 16, svg.data(), svg.size(), nullptr) == TW_OK);
  CHECK(svg.find("</svg>") != std::string::npos);
  CHECK(tw_layout_draw(layout, TW_PAINT_BANKS, 16, svg.data(), 10, nullptr) ==
        TW_ERROR_BUFFER_TOO_SMALL);
  CHECK(tw_layout_draw(layout, 9, 16, svg.data(), svg.size(), nullptr) ==
        TW_ERROR_INVALID_ARGUMENT);
  tw_layout_destroy(layout);
}
