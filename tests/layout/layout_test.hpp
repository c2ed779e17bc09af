// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests write layouts as text and compare the texts.

#include <string>
#include <string_view>

#include "doctest_main.hpp"
#include "layout/coordinate.hpp"
#include "layout/text.hpp"

namespace tw::test {

/// Parses a layout; the text must be valid.
inline Layout L(std::string_view text) {
  Layout layout;
  const Status status = parse(text, &layout);
  INFO(text, ": ", last_failure().message);
  REQUIRE(status.ok());
  return layout;
}

inline IntTuple T(std::string_view text) {
  IntTuple tuple;
  const Status status = parse(text, true, &tuple);
  INFO(text, ": ", last_failure().message);
  REQUIRE(status.ok());
  return tuple;
}

template <class Value>
std::string str(const Value& value) {
  Text text;
  format(value, &text);
  return std::string(text.view());
}

/// The text of the layout that an operation returns, or the name of its error.
template <class Verb>
std::string answer(Verb&& verb) {
  Layout out;
  const Status status = verb(&out);
  return status.ok() ? str(out) : code_name(static_cast<int32_t>(status.code()));
}

/// Whether the message of the last failure contains this text.
inline bool said(std::string_view part) {
  return std::string_view(last_failure().message).find(part) != std::string_view::npos;
}

}  // namespace tw::test
