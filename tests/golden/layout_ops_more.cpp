// SPDX-License-Identifier: Apache-2.0
#include "layout_ops_parts.hpp"

namespace golden {
namespace {

Run asks(tw_status (*verb)(const tw_layout*, int32_t*)) {
  return [verb](const Operands& o) {
    return a_number<int32_t>([&](int32_t* yes) { return verb(layout_of(o.at(0)).get(), yes); });
  };
}

Linear linear_of(const std::string& text) {
  tw_linear* handle = nullptr;
  need(tw_linear_parse(text.c_str(), &handle), text);
  return Linear(handle);
}

template <class Call>
Answer a_linear(Call&& call) {
  Answer answer;
  tw_linear* out = nullptr;
  answer.status = call(&out);
  const Linear linear(out);
  if (answer.status == TW_OK) answer.text = format(tw_linear_format, linear.get());
  return answer;
}

Answer bank_passes(const Operands& o) {
  Answer answer;
  int64_t passes = 0, least = 0;
  answer.status =
      tw_layout_bank_passes(layout_of(o.at(0)).get(), small_of(o.at(1)), layout_of(o.at(2)).get(),
                            small_of(o.at(3)), &passes, &least);
  answer.text = std::to_string(passes) + " of " + std::to_string(least);
  return answer;
}

template <class Number>
std::vector<Number> numbers_of(const std::string& text) {
  const Tuple tuple = tuple_of(text);
  int64_t values[TW_LAYOUT_MAX_LEAVES];
  int32_t count = 0;
  need(tw_tuple_values(tuple.get(), values, TW_LAYOUT_MAX_LEAVES, &count), text);
  return std::vector<Number>(values, values + count);
}

std::string joined(const int64_t* values, int32_t count, const char* between) {
  std::string text;
  for (int32_t i = 0; i < count; ++i) text += (i ? between : "") + std::to_string(values[i]);
  return text;
}

std::vector<int64_t> rest_of(const Operands& o) {
  std::vector<int64_t> values;
  for (size_t i = 1; i < o.size(); ++i) values.push_back(number_of(o[i]));
  return values;
}

// Wraps a call that returns an array of numbers: `call(values, capacity, written)`.
template <class Call>
Answer numbers(Call&& call) {
  Answer answer;
  int64_t values[TW_LAYOUT_MAX_LEAVES];
  int32_t count = 0;
  answer.status = call(values, int32_t{TW_LAYOUT_MAX_LEAVES}, &count);
  if (answer.status == TW_OK) answer.text = "(" + joined(values, count, ",") + ")";
  return answer;
}

Answer swizzle(const Operands& o) {
  Answer answer;
  int32_t bits = 0, base = 0, shift = 0;
  int64_t offset = 0;
  answer.status = tw_layout_swizzle(layout_of(o.at(0)).get(), &bits, &base, &shift, &offset);
  const int64_t all[] = {bits, base, shift, offset};
  answer.text = joined(all, 4, " ");
  return answer;
}

Answer partition_tma(const Operands& o) {
  Answer answer;
  int64_t box[5] = {};
  tw_layout *boxes = nullptr, *slots = nullptr;
  const Tuple tile = tuple_of(o.at(2));
  answer.status = tw_layout_partition_tma(layout_of(o.at(0)).get(), layout_of(o.at(1)).get(),
                                          tile.get(), tuple_of(o.at(3)).get(), number_of(o.at(4)),
                                          number_of(o.at(5)), box, 5, &boxes, &slots);
  const Layout where(boxes), place(slots);
  if (answer.status != TW_OK) return answer;
  const auto rank = static_cast<int32_t>(numbers_of<int64_t>(o[2]).size());
  answer.text = joined(box, rank, ",") + " at " + text_of(boxes) + " to " + text_of(slots);
  return answer;
}

Answer linear_blocked(const Operands& o) {
  const auto shape = numbers_of<int64_t>(o.at(0)), per_thread = numbers_of<int64_t>(o.at(1)),
             per_warp = numbers_of<int64_t>(o.at(2)), warps = numbers_of<int64_t>(o.at(3));
  const auto order = numbers_of<int32_t>(o.at(4));
  return a_linear([&](tw_linear** out) {
    return tw_linear_blocked(static_cast<int32_t>(shape.size()), shape.data(), per_thread.data(),
                             per_warp.data(), warps.data(), order.data(), out);
  });
}

Answer linear_gather4(const Operands& o) {
  Answer answer;
  int64_t per_warp = 0, warps = 0;
  answer.status = tw_linear_gather4(linear_of(o.at(0)).get(), &per_warp, &warps);
  answer.text = std::to_string(per_warp) + " in " + std::to_string(warps);
  return answer;
}

}  // namespace

const std::map<std::string, Run>& further_operations() {
  static const std::map<std::string, Run> table = {
      {"partition_tv",
       [](const Operands& o) {
         return a_part([&](tw_layout** out, int64_t* offset) {
           return tw_layout_partition_tv(layout_of(o.at(0)).get(), tuple_of(o.at(1)).get(),
                                         layout_of(o.at(2)).get(), number_of(o.at(3)), out, offset);
         });
       }},
      {"bank_passes", bank_passes},
      {"swizzle", swizzle},
      {"partition_tma", partition_tma},
      {"linear_blocked", linear_blocked},
      {"linear_gather4", linear_gather4},
      {"linear_at",
       [](const Operands& o) {
         const std::vector<int64_t> in = rest_of(o);
         return numbers([&](int64_t* values, int32_t capacity, int32_t* written) {
           return tw_linear_at(linear_of(o.at(0)).get(), in.at(0), in.at(1), in.at(2), in.at(3),
                               values, capacity, written);
         });
       }},
      {"rank", asks(tw_layout_rank)},
      {"depth", asks(tw_layout_depth)},
      {"leaves", asks(tw_layout_leaves)},
      {"mode",
       [](const Operands& o) {
         return a_layout([&](tw_layout** out) {
           return tw_layout_mode(layout_of(o.at(0)).get(), small_of(o.at(1)), out);
         });
       }},
      {"crd2idx",
       [](const Operands& o) {
         const std::vector<int64_t> coord = rest_of(o);
         return a_number<int64_t>([&](int64_t* index) {
           return tw_layout_crd2idx(layout_of(o.at(0)).get(), coord.data(),
                                    static_cast<int32_t>(coord.size()), index);
         });
       }},
      {"crd2crd",
       [](const Operands& o) {
         const std::vector<int64_t> coord = rest_of(o);
         return numbers([&](int64_t* values, int32_t capacity, int32_t* written) {
           return tw_layout_crd2crd(layout_of(o.at(0)).get(), coord.data(),
                                    static_cast<int32_t>(coord.size()), values, capacity, written);
         });
       }},
      {"idx2crd",
       [](const Operands& o) {
         return numbers([&](int64_t* values, int32_t capacity, int32_t* written) {
           const Layout layout = layout_of(o.at(0));
           tw_layout_leaves(layout.get(), written);
           return tw_layout_idx2crd(layout.get(), number_of(o.at(1)), values, capacity);
         });
       }},
      {"find",
       [](const Operands& o) {
         return a_number<int64_t>([&](int64_t* linear) {
           return tw_layout_find(layout_of(o.at(0)).get(), number_of(o.at(1)), linear);
         });
       }},
      {"local_tile",
       [](const Operands& o) {
         const auto tile = numbers_of<int64_t>(o.at(1)), coord = numbers_of<int64_t>(o.at(2));
         return a_part([&](tw_layout** out, int64_t* offset) {
           return tw_layout_local_tile(layout_of(o.at(0)).get(), static_cast<int32_t>(tile.size()),
                                       tile.data(), coord.data(), out, offset);
         });
       }},
      {"default_shared",
       [](const Operands& o) {
         int32_t bytes = 0;
         return a_layout([&](tw_layout** out) {
           return tw_layout_default_shared(number_of(o.at(0)), number_of(o.at(1)),
                                           small_of(o.at(2)), &bytes, out);
         });
       }},
      {"linear_slice",
       [](const Operands& o) {
         return a_linear([&](tw_linear** out) {
           return tw_linear_slice(linear_of(o.at(0)).get(), small_of(o.at(1)), out);
         });
       }},
      {"linear_resize",
       [](const Operands& o) {
         return a_linear([&](tw_linear** out) {
           return tw_linear_resize(linear_of(o.at(0)).get(), tuple_of(o.at(1)).get(), out);
         });
       }},
      {"linear_compose",
       [](const Operands& o) {
         return a_linear([&](tw_linear** out) {
           return tw_linear_compose(linear_of(o.at(0)).get(), linear_of(o.at(1)).get(), out);
         });
       }},
      {"linear_inverse",
       [](const Operands& o) {
         return a_linear(
             [&](tw_linear** out) { return tw_linear_inverse(linear_of(o.at(0)).get(), out); });
       }},
      {"linear_from_layout",
       [](const Operands& o) {
         const Tuple shape = o.at(1) != "NULL" ? tuple_of(o[1]) : nullptr;
         return a_linear([&](tw_linear** out) {
           return tw_linear_from_layout(layout_of(o.at(0)).get(), shape.get(), out);
         });
       }},
      {"linear_to_layout",
       [](const Operands& o) {
         return a_layout(
             [&](tw_layout** out) { return tw_linear_to_layout(linear_of(o.at(0)).get(), out); });
       }},
  };
  return table;
}

}  // namespace golden
