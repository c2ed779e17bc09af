// SPDX-License-Identifier: Apache-2.0
#include "layout_ops_parts.hpp"

namespace golden {
namespace {

Run by_layout(tw_status (*verb)(const tw_layout*, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout([&](tw_layout** out) { return verb(layout_of(o.at(0)).get(), out); });
  };
}
Run by_pair(tw_status (*verb)(const tw_layout*, const tw_layout*, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout([&](tw_layout** out) {
      return verb(layout_of(o.at(0)).get(), layout_of(o.at(1)).get(), out);
    });
  };
}
Run by_tiler(tw_status (*verb)(const tw_layout*, const tw_tiler*, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout([&](tw_layout** out) {
      return verb(layout_of(o.at(0)).get(), tiler_of(o.at(1)).get(), out);
    });
  };
}
Run by_profile(tw_status (*verb)(const tw_layout*, const tw_tuple*, tw_layout**)) {
  return [verb](const Operands& o) {
    const Tuple profile = o.size() > 1 && o[1] != "NULL" ? tuple_of(o[1]) : nullptr;
    return a_layout(
        [&](tw_layout** out) { return verb(layout_of(o.at(0)).get(), profile.get(), out); });
  };
}
Run by_shape(tw_status (*verb)(const tw_tuple*, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout([&](tw_layout** out) { return verb(tuple_of(o.at(0)).get(), out); });
  };
}
Run by_range(tw_status (*verb)(const tw_layout*, int32_t, int32_t, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout([&](tw_layout** out) {
      return verb(layout_of(o.at(0)).get(), small_of(o.at(1)), small_of(o.at(2)), out);
    });
  };
}
Run by_number(tw_status (*verb)(const tw_layout*, int64_t, tw_layout**)) {
  return [verb](const Operands& o) {
    return a_layout(
        [&](tw_layout** out) { return verb(layout_of(o.at(0)).get(), number_of(o.at(1)), out); });
  };
}
Run by_coord(tw_status (*verb)(const tw_layout*, const tw_tuple*, tw_layout**, int64_t*)) {
  return [verb](const Operands& o) {
    return a_part([&](tw_layout** out, int64_t* offset) {
      return verb(layout_of(o.at(0)).get(), tuple_of(o.at(1)).get(), out, offset);
    });
  };
}
Run asks(tw_status (*verb)(const tw_layout*, int32_t*)) {
  return [verb](const Operands& o) {
    return a_number<int32_t>([&](int32_t* yes) { return verb(layout_of(o.at(0)).get(), yes); });
  };
}
Run measures(tw_status (*verb)(const tw_layout*, int64_t*)) {
  return [verb](const Operands& o) {
    return a_number<int64_t>(
        [&](int64_t* number) { return verb(layout_of(o.at(0)).get(), number); });
  };
}
Run asks_tuples(tw_status (*verb)(const tw_tuple*, const tw_tuple*, int32_t*)) {
  return [verb](const Operands& o) {
    return a_number<int32_t>(
        [&](int32_t* yes) { return verb(tuple_of(o.at(0)).get(), tuple_of(o.at(1)).get(), yes); });
  };
}
Run by_tuples(tw_status (*verb)(const tw_tuple*, const tw_tuple*, tw_tuple**)) {
  return [verb](const Operands& o) {
    return a_tuple([&](tw_tuple** out) {
      return verb(tuple_of(o.at(0)).get(), tuple_of(o.at(1)).get(), out);
    });
  };
}
Run a_tuple_of(tw_status (*verb)(const tw_layout*, tw_tuple**)) {
  return [verb](const Operands& o) {
    return a_tuple([&](tw_tuple** out) { return verb(layout_of(o.at(0)).get(), out); });
  };
}

Answer make_tv(const Operands& o) {
  Answer answer;
  tw_tuple* tiler = nullptr;
  tw_layout* out = nullptr;
  answer.status =
      tw_layout_make_tv(layout_of(o.at(0)).get(), layout_of(o.at(1)).get(), &tiler, &out);
  const Tuple tile(tiler);
  answer.layout.reset(out);
  if (answer.status == TW_OK) answer.text = text_of(tiler);
  return answer;
}

Answer select(const Operands& o) {
  std::vector<int32_t> modes;
  for (size_t i = 1; i < o.size(); ++i) modes.push_back(small_of(o[i]));
  return a_layout([&](tw_layout** out) {
    return tw_layout_select(layout_of(o.at(0)).get(), static_cast<int32_t>(modes.size()),
                            modes.data(), out);
  });
}

Answer swizzle_recast(const Operands& o) {
  Swizzle s = swizzle_of(o.at(0));
  Answer answer;
  answer.status =
      tw_swizzle_recast(&s.bits, &s.base, &s.shift, number_of(o.at(1)), number_of(o.at(2)));
  answer.text = "Sw<" + std::to_string(s.bits) + "," + std::to_string(s.base) + "," +
                std::to_string(s.shift) + ">";
  return answer;
}

const std::map<std::string, Run>& operations() {
  static const std::map<std::string, Run> table = {
      {"product",
       [](const Operands& o) {
         return a_number<int64_t>(
             [&](int64_t* n) { return tw_tuple_product(tuple_of(o.at(0)).get(), n); });
       }},
      {"congruent", asks_tuples(tw_tuple_congruent)},
      {"weakly_congruent", asks_tuples(tw_tuple_weakly_congruent)},
      {"compatible", asks_tuples(tw_tuple_compatible)},
      {"elem_less", asks_tuples(tw_tuple_elem_less)},
      {"prefix_product",
       [](const Operands& o) {
         return a_tuple(
             [&](tw_tuple** out) { return tw_tuple_prefix_product(tuple_of(o.at(0)).get(), out); });
       }},
      {"inner_product",
       [](const Operands& o) {
         return a_number<int64_t>([&](int64_t* n) {
           return tw_tuple_inner_product(tuple_of(o.at(0)).get(), tuple_of(o.at(1)).get(), n);
         });
       }},
      {"shape_div", by_tuples(tw_tuple_shape_div)},
      {"ceil_div", by_tuples(tw_tuple_ceil_div)},
      {"make_layout_left", by_shape(tw_layout_make_left)},
      {"make_layout_right", by_shape(tw_layout_make_right)},
      {"make_identity_layout", by_shape(tw_layout_make_identity)},
      {"make_layout_like", by_layout(tw_layout_make_like)},
      {"make_ordered_layout",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_make_ordered(tuple_of(o.at(0)).get(), tuple_of(o.at(1)).get(), out);
         });
       }},
      {"make_layout_tv", make_tv},
      {"domain_distribute",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_domain_distribute(tuple_of(o.at(0)).get(), number_of(o.at(1)), out);
         });
       }},
      {"shape", a_tuple_of(tw_layout_shape)},
      {"stride", a_tuple_of(tw_layout_stride)},
      {"size", measures(tw_layout_size)},
      {"cosize", measures(tw_layout_cosize)},
      {"at",
       [](const Operands& o) {
         return a_number<int64_t>([&](int64_t* n) {
           return tw_layout_at(layout_of(o.at(0)).get(), tuple_of(o.at(1)).get(), n);
         });
       }},
      {"at_coord",
       [](const Operands& o) {
         return a_tuple([&](tw_tuple** out) {
           return tw_layout_at_coord(layout_of(o.at(0)).get(), tuple_of(o.at(1)).get(), out);
         });
       }},
      {"is_injective", asks(tw_layout_is_injective)},
      {"is_surjective", asks(tw_layout_is_surjective)},
      {"is_contiguous", asks(tw_layout_is_contiguous)},
      {"max_alignment", measures(tw_layout_max_alignment)},
      {"max_common_vector",
       [](const Operands& o) {
         return a_number<int64_t>([&](int64_t* n) {
           return tw_layout_max_common_vector(layout_of(o.at(0)).get(), layout_of(o.at(1)).get(),
                                              n);
         });
       }},
      {"coalesce", by_profile(tw_layout_coalesce)},
      {"filter", by_profile(tw_layout_filter)},
      {"filter_zeros", by_layout(tw_layout_filter_zeros)},
      {"flatten", by_layout(tw_layout_flatten)},
      {"group_modes", by_range(tw_layout_group_modes)},
      {"take", by_range(tw_layout_take)},
      {"append", by_pair(tw_layout_append)},
      {"prepend", by_pair(tw_layout_prepend)},
      {"replace",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_replace(layout_of(o.at(0)).get(), small_of(o.at(1)),
                                    layout_of(o.at(2)).get(), out);
         });
       }},
      {"select", select},
      {"composition", by_pair(tw_layout_composition)},
      {"composition_tiler", by_tiler(tw_layout_composition_tiler)},
      {"complement", by_number(tw_layout_complement)},
      {"right_inverse", by_layout(tw_layout_right_inverse)},
      {"left_inverse", by_layout(tw_layout_left_inverse)},
      {"logical_divide", by_tiler(tw_layout_logical_divide)},
      {"zipped_divide", by_tiler(tw_layout_zipped_divide)},
      {"tiled_divide", by_tiler(tw_layout_tiled_divide)},
      {"flat_divide", by_tiler(tw_layout_flat_divide)},
      {"logical_product", by_tiler(tw_layout_logical_product)},
      {"zipped_product", by_tiler(tw_layout_zipped_product)},
      {"tiled_product", by_tiler(tw_layout_tiled_product)},
      {"flat_product", by_tiler(tw_layout_flat_product)},
      {"blocked_product", by_pair(tw_layout_blocked_product)},
      {"raked_product", by_pair(tw_layout_raked_product)},
      {"tile_to_shape",
       [](const Operands& o) {
         const Tuple order = o.size() > 2 && o[2] != "NULL" ? tuple_of(o[2]) : nullptr;
         return a_layout([&](tw_layout** out) {
           return tw_layout_tile_to_shape(layout_of(o.at(0)).get(), tuple_of(o.at(1)).get(),
                                          order.get(), out);
         });
       }},
      {"max_common_layout", by_pair(tw_layout_max_common_layout)},
      {"nullspace", by_layout(tw_layout_nullspace)},
      {"slice", by_coord(tw_layout_slice)},
      {"dice", by_profile(tw_layout_dice)},
      {"domain_offset", by_coord(tw_layout_domain_offset)},
      {"tile",
       [](const Operands& o) {
         return a_part([&](tw_layout** out, int64_t* offset) {
           return tw_layout_tile(layout_of(o.at(0)).get(), tiler_of(o.at(1)).get(),
                                 tuple_of(o.at(2)).get(), out, offset);
         });
       }},
      {"local_partition",
       [](const Operands& o) {
         return a_part([&](tw_layout** out, int64_t* offset) {
           return tw_layout_local_partition(layout_of(o.at(0)).get(), layout_of(o.at(1)).get(),
                                            number_of(o.at(2)), out, offset);
         });
       }},
      {"add_swizzle",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_add_swizzle(layout_of(o.at(0)).get(), small_of(o.at(1)),
                                        small_of(o.at(2)), small_of(o.at(3)), out);
         });
       }},
      {"remove_swizzle", by_layout(tw_layout_remove_swizzle)},
      {"swizzle_apply",
       [](const Operands& o) {
         const Swizzle s = swizzle_of(o.at(0));
         return a_number<int64_t>([&](int64_t* n) {
           return tw_swizzle_apply(s.bits, s.base, s.shift, number_of(o.at(1)), n);
         });
       }},
      {"swizzle_recast", swizzle_recast},
      {"upcast", by_number(tw_layout_upcast)},
      {"downcast", by_number(tw_layout_downcast)},
      {"recast",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_recast(layout_of(o.at(0)).get(), number_of(o.at(1)), number_of(o.at(2)),
                                   out);
         });
       }},
  };
  return table;
}

}  // namespace

Layout layout_of(const std::string& text) {
  tw_layout* handle = nullptr;
  need(tw_layout_parse(text.c_str(), &handle), text);
  return Layout(handle);
}

Tuple tuple_of(const std::string& text) {
  tw_tuple* handle = nullptr;
  need(tw_tuple_parse(text.c_str(), &handle), text);
  return Tuple(handle);
}

std::string text_of(const tw_layout* layout) {
  return format(tw_layout_format, layout);
}
std::string text_of(const tw_tuple* tuple) {
  return format(tw_tuple_format, tuple);
}

std::string text_of(const Answer& answer) {
  if (answer.status != TW_OK) return std::string(tw_status_name(answer.status)).substr(3);
  if (!answer.layout) return answer.text;
  std::string text = answer.text.empty() ? "" : answer.text + " ";
  if (answer.offset != 0) text += std::to_string(answer.offset) + " + ";
  return text + text_of(answer.layout.get());
}

Answer run(const std::string& operation, const std::vector<std::string>& operands) {
  const auto further = further_operations().find(operation);
  if (further != further_operations().end()) return further->second(operands);
  const auto found = operations().find(operation);
  if (found == operations().end()) throw std::invalid_argument("no operation " + operation);
  return found->second(operands);
}

}  // namespace golden
