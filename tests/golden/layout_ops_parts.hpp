// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for the operation tables of layout_ops.cpp and layout_ops_more.cpp.

#include <functional>
#include <map>
#include <stdexcept>

#include "layout_ops.hpp"

namespace golden {

using Operands = std::vector<std::string>;

inline void need(tw_status status, const std::string& what) {
  if (status != TW_OK) throw std::invalid_argument(what + ": " + tw_last_error());
}

inline Tiler tiler_of(const std::string& text) {
  tw_tiler* handle = nullptr;
  need(tw_tiler_parse(text.c_str(), &handle), text);
  return Tiler(handle);
}

inline int64_t number_of(const std::string& text) {
  return std::stoll(text);
}
inline int32_t small_of(const std::string& text) {
  return static_cast<int32_t>(std::stol(text));
}

struct Swizzle {
  int32_t bits, base, shift;
};
inline Swizzle swizzle_of(const std::string& text) {
  const Layout layout = layout_of(text + " o 0 o 1");
  Swizzle s{};
  int64_t offset = 0;
  need(tw_layout_swizzle(layout.get(), &s.bits, &s.base, &s.shift, &offset), text);
  return s;
}

template <class Handle>
std::string format(tw_status (*call)(const Handle*, char*, size_t, size_t*), const Handle* handle) {
  size_t length = 0;
  need(call(handle, nullptr, 0, &length), "format");
  std::string text(length, '\0');
  need(call(handle, text.data(), text.size(), nullptr), "format");
  text.pop_back();
  return text;
}

// Wrap calls that return a layout, a tuple, or a number.
template <class Call>
Answer a_layout(Call&& call) {
  Answer answer;
  tw_layout* out = nullptr;
  answer.status = call(&out);
  answer.layout.reset(out);
  return answer;
}
template <class Call>
Answer a_part(Call&& call) {
  Answer answer;
  tw_layout* out = nullptr;
  answer.status = call(&out, &answer.offset);
  answer.layout.reset(out);
  return answer;
}
template <class Call>
Answer a_tuple(Call&& call) {
  Answer answer;
  tw_tuple* out = nullptr;
  answer.status = call(&out);
  const Tuple tuple(out);
  if (answer.status == TW_OK) answer.text = text_of(out);
  return answer;
}
template <class Number, class Call>
Answer a_number(Call&& call) {
  Answer answer;
  Number number = 0;
  answer.status = call(&number);
  if (answer.status == TW_OK) answer.text = std::to_string(number);
  return answer;
}

using Run = std::function<Answer(const Operands&)>;

/// Operations outside the algebra: coordinates, partitions, linear layouts.
const std::map<std::string, Run>& further_operations();

}  // namespace golden
