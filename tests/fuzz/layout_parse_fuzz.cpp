// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text: accepted or refused; accepted values survive a round trip through text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "layout/algebra/algebra.hpp"
#include "layout/coordinate.hpp"
#include "layout/linear/linear.hpp"
#include "layout/text.hpp"

using namespace tw;

namespace {

template <class Value>
std::string_view format_into(const Value& value, Text* text) {
  format(value, text);
  return text->view();
}

// Formatting, parsing and formatting again gives the same text.
template <class Value, class Parse>
void check_round_trip(const Value& value, Parse&& parse_again) {
  Text first, second;
  const std::string_view text = format_into(value, &first);
  Value again;
  if (!parse_again(text, &again).ok()) std::abort();
  if (format_into(again, &second) != text) std::abort();
}

void use(const Layout& layout) {
  int64_t number = 0;
  Layout out;
  (void)cosize(layout, &number);
  (void)coalesce(layout, &out);
  (void)right_inverse(layout, &out);
  (void)composition(layout, layout, &out);
  const int64_t last = size(layout) - 1;
  int64_t at[kMaxLeaves];
  int written = 0;
  if (!crd2crd(layout, &last, 1, at, &written).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Layout layout;
  if (parse(text, &layout).ok()) {
    check_round_trip(layout, [](std::string_view t, Layout* out) { return parse(t, out); });
    use(layout);
  }
  IntTuple tuple;
  if (parse(text, true, &tuple).ok())
    check_round_trip(tuple, [](std::string_view t, IntTuple* out) { return parse(t, true, out); });
  Tiler tiler;
  if (parse(text, &tiler).ok())
    check_round_trip(tiler, [](std::string_view t, Tiler* out) { return parse(t, out); });
  LinearLayout linear;
  if (parse(text, &linear).ok())
    check_round_trip(linear, [](std::string_view t, LinearLayout* out) { return parse(t, out); });
  return 0;
}
