// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls the layout functions of the C API by the names and texts that golden files and the header's
// examples use.

#include <tilewright/tilewright.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace golden {

struct Destroy {
  void operator()(tw_layout* handle) const { tw_layout_destroy(handle); }
  void operator()(tw_tuple* handle) const { tw_tuple_destroy(handle); }
  void operator()(tw_tiler* handle) const { tw_tiler_destroy(handle); }
  void operator()(tw_linear* handle) const { tw_linear_destroy(handle); }
};
using Layout = std::unique_ptr<tw_layout, Destroy>;
using Tuple = std::unique_ptr<tw_tuple, Destroy>;
using Tiler = std::unique_ptr<tw_tiler, Destroy>;
using Linear = std::unique_ptr<tw_linear, Destroy>;

/// The result of an operation: a layout with its offset, a text (a tuple or a number), or an error.
struct Answer {
  tw_status status = TW_OK;
  Layout layout;
  int64_t offset = 0;
  std::string text;
};

/// Runs an operation. Throws std::invalid_argument for an unknown name or an invalid operand.
Answer run(const std::string& operation, const std::vector<std::string>& operands);

/// Parse an operand; they throw std::invalid_argument if it does not parse.
Layout layout_of(const std::string& text);
Tuple tuple_of(const std::string& text);

std::string text_of(const tw_layout* layout);
std::string text_of(const tw_tuple* tuple);
/// The answer as in the header's examples: "26 + (2,4):(1,6)", a text, or a status's name.
std::string text_of(const Answer& answer);

}  // namespace golden
