// SPDX-License-Identifier: Apache-2.0
// Compares the library's answer for a layout line with the recorded one. Each operation defines
// equality: layouts are compared as functions and by profile, not by spelling.
#include <functional>
#include <map>
#include <sstream>

#include "layout_lines.hpp"
#include "layout_ops.hpp"

namespace golden {
namespace {

using Json = nlohmann::json;

// Larger answers would take minutes to enumerate; none of the files has one.
constexpr int64_t kMostPoints = int64_t{1} << 26;

std::string spell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return std::to_string(value.get<int64_t>());
  std::string text = "(";
  for (size_t i = 0; i < value.size(); ++i) text += (i ? "," : "") + spell(value[i]);
  return text + ")";
}

std::vector<std::string> operands_of(const Json& line) {
  std::vector<std::string> operands;
  for (const Json& input : line.at("inputs")) operands.push_back(spell(input));
  return operands;
}

std::string differs(const std::string& what, const std::string& got, const std::string& wanted) {
  return what + " is " + got + ", not " + wanted;
}

int64_t size_of(const tw_layout* layout) {
  int64_t size = 0;
  if (tw_layout_size(layout, &size) != TW_OK) throw std::runtime_error(tw_last_error());
  if (size > kMostPoints) throw std::runtime_error("too many coordinates to walk");
  return size;
}

/// The value at a linear coordinate, which may lie past the end.
int64_t value_at(const tw_layout* layout, int64_t linear) {
  int64_t size = 0, value = 0;
  tw_layout_size(layout, &size);
  tw_status status = TW_OK;
  if (linear < size)
    status = tw_layout_crd2idx(layout, &linear, 1, &value);
  else
    status = tw_layout_at(layout, tuple_of(std::to_string(linear)).get(), &value);
  if (status != TW_OK) throw std::runtime_error(tw_last_error());
  return value;
}

/// FNV-1a over numbers, each as eight little-endian bytes.
class Fnv {
 public:
  void add(int64_t number) {
    for (int i = 0; i < 8; ++i)
      hash_ = (hash_ ^ (static_cast<uint64_t>(number) >> 8 * i & 255)) * 0x100000001b3u;
  }
  std::string text() const {
    char digits[24];
    std::snprintf(digits, sizeof digits, "0x%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

std::string same_numbers(const tw_layout* layout, int64_t offset, const Json& wanted) {
  const int64_t size = size_of(layout);
  if (wanted.contains("size") && size != wanted["size"])
    return differs("size", std::to_string(size), wanted["size"].dump());
  const Json table = wanted.value("table", Json::array());
  Fnv fnv;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t value = value_at(layout, i) + offset;
    fnv.add(value);
    if (static_cast<size_t>(i) < table.size() && value != table[static_cast<size_t>(i)])
      return differs("value " + std::to_string(i), std::to_string(value),
                     table[static_cast<size_t>(i)].dump());
  }
  if (wanted.contains("fnv") && Json(fnv.text()) != wanted["fnv"])
    return differs("hash of the values", fnv.text(), wanted["fnv"]);
  if (!wanted.contains("fnv") && !wanted.contains("size") && table.size() < 64 &&
      static_cast<int64_t>(table.size()) != size)
    return differs("size", std::to_string(size), std::to_string(table.size()));
  return "";
}

/// Compares the coordinate tuples of a layout; `from_origin` subtracts its origin.
std::string same_coords(const tw_layout* layout, bool from_origin, const Json& wanted) {
  const int64_t size = size_of(layout);
  if (size != wanted.at("size"))
    return differs("size", std::to_string(size), wanted["size"].dump());
  const size_t numbers = wanted.at("basis_paths").size();
  const Json coords = wanted.value("coords", Json::array());
  Fnv fnv;
  int64_t origin[TW_LAYOUT_MAX_LEAVES] = {};
  for (int64_t i = 0; i < size; ++i) {
    int64_t at[TW_LAYOUT_MAX_LEAVES] = {};
    int32_t written = 0;
    if (tw_layout_crd2crd(layout, &i, 1, at, TW_LAYOUT_MAX_LEAVES, &written) != TW_OK)
      throw std::runtime_error(tw_last_error());
    if (static_cast<size_t>(written) != numbers)
      return differs("tuples' length", std::to_string(written), std::to_string(numbers));
    if (i == 0 && from_origin) std::copy_n(at, numbers, origin);
    Json point = Json::array();
    for (size_t k = 0; k < numbers; ++k) {
      fnv.add(at[k] - origin[k]);
      point.push_back(at[k] - origin[k]);
    }
    if (static_cast<size_t>(i) < coords.size() && point != coords[static_cast<size_t>(i)])
      return differs("tuple " + std::to_string(i), point.dump(),
                     coords[static_cast<size_t>(i)].dump());
  }
  return Json(fnv.text()) == wanted.at("fnv")
             ? ""
             : differs("hash of the tuples", fnv.text(), wanted["fnv"]);
}

std::string same_function(const Answer& answer, const Json& line) {
  const Json& wanted =
      line.contains("result") && line["expect"] != "error_or_fn" ? line["result"] : line.at("fn");
  return wanted.contains("basis_paths") ? same_coords(answer.layout.get(), false, wanted)
                                        : same_numbers(answer.layout.get(), answer.offset, wanted);
}

// A nested shape cut at depth `levels`: deeper tuples become their products.
Json to_depth(const Json& shape, int levels) {
  if (shape.is_number()) return shape;
  if (levels > 0) {
    Json out = Json::array();
    for (const Json& entry : shape) out.push_back(to_depth(entry, levels - 1));
    return out;
  }
  int64_t product = 1;
  for (const Json& entry : shape) product *= to_depth(entry, 0).get<int64_t>();
  return product;
}

std::string refines(const Answer& answer, const Json& reference) {
  tw_tuple* handle = nullptr;
  tw_layout_shape(answer.layout.get(), &handle);
  const Tuple shape(handle);
  int32_t yes = 0;
  tw_tuple_compatible(tuple_of(spell(reference)).get(), handle, &yes);
  return yes ? ""
             : differs("shape", text_of(handle), "one that " + spell(reference) + " refines to");
}

std::string same_function_and_profile(const Answer& answer, const Json& line) {
  if (std::string text = same_function(answer, line); !text.empty()) return text;
  if (line.contains("ref_shape")) {
    return line["ref_shape"].is_number() ? "" : refines(answer, line["ref_shape"]);
  }
  if (line.contains("result") && line["result"].contains("shape"))
    return refines(answer, to_depth(line["result"]["shape"], 2));
  return "";
}

std::string flat_function(const Answer& answer, const Json& line) {
  int32_t depth = 0;
  tw_layout_depth(answer.layout.get(), &depth);
  return depth > 1 ? differs("depth", std::to_string(depth), "at most 1")
                   : same_function(answer, line);
}

std::string exact_text(const std::string& got, const Json& wanted) {
  return got == spell(wanted) ? "" : differs("answer", got, spell(wanted));
}

std::string exact_value(const Answer& answer, const Json& line) {
  return exact_text(answer.text, line.at("result").at("value"));
}

std::string exact_layout(const Answer& answer, const Json& line) {
  const Json& wanted = line.at("result");
  if (std::string text = exact_text(text_of(answer.layout.get()), wanted.at("layout"));
      !text.empty())
    return text;
  return wanted.contains("basis_paths") ? same_coords(answer.layout.get(), false, wanted)
                                        : same_numbers(answer.layout.get(), 0, wanted);
}

// Compares the offset and the layout of a slice. A coordinate layout's offset is its origin.
std::string exact_part(const Answer& answer, const Json& line) {
  const Json& wanted = line.at("result");
  std::string text = text_of(answer.layout.get());
  std::string offset = std::to_string(answer.offset);
  if (const size_t o = text.find(" o "); o != std::string::npos) {
    offset = text.substr(0, o);
    text = text.substr(o + 3);
  }
  if (offset != spell(wanted.at("offset")))
    return differs("offset", offset, spell(wanted["offset"]));
  if (Json(text) != wanted.at("layout")) return differs("layout", text, wanted["layout"]);
  return wanted.contains("basis_paths") ? same_coords(answer.layout.get(), true, wanted)
                                        : same_numbers(answer.layout.get(), 0, wanted);
}

std::string offset_and_table(const Answer& answer, const Json& line) {
  const Json& wanted = line.at("result");
  if (answer.offset != wanted.at("offset"))
    return differs("offset", std::to_string(answer.offset), wanted["offset"].dump());
  return same_numbers(answer.layout.get(), answer.offset, wanted);
}

// Modes of extent 1 may have any stride.
std::string same_strides(const Answer& answer, const Json& line) {
  if (std::string text = same_function(answer, line); !text.empty()) return text;
  return exact_text(text_of(answer.layout.get()).substr(0, text_of(answer.layout.get()).find(':')),
                    line.at("result").at("shape"));
}

std::string is_right_inverse(const Answer& answer, const Json& line) {
  const Layout layout = layout_of(line.at("inputs").at(0));
  const int64_t size = size_of(answer.layout.get());
  const int64_t least = line.contains("min_size") ? line["min_size"] : line.at("result").at("size");
  if (size < least)
    return differs("size", std::to_string(size), "at least " + std::to_string(least));
  for (int64_t i = 0; i < size; ++i)
    if (value_at(layout.get(), value_at(answer.layout.get(), i)) != i)
      return "L(R(" + std::to_string(i) + ")) is another number";
  return "";
}

std::string is_left_inverse(const Answer& answer, const Json& line) {
  const Layout layout = layout_of(line.at("inputs").at(0));
  int32_t injective = 0;
  if (tw_layout_is_injective(layout.get(), &injective) != TW_OK) return tw_last_error();
  const int64_t size = size_of(layout.get());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t index = value_at(layout.get(), i), back = value_at(answer.layout.get(), index);
    if (injective ? back != i : value_at(layout.get(), back) != index)
      return "R(L(" + std::to_string(i) + ")) is " + std::to_string(back);
  }
  return "";
}

// Compares the tuples as text, and a hash of their numbers.
std::string same_tuples(const Answer& answer, const Json& line) {
  const Json& wanted = line.at("result");
  const int64_t size = size_of(answer.layout.get());
  const Json& table = wanted.at("table");
  if (wanted.contains("size") && size != wanted["size"])
    return differs("size", std::to_string(size), wanted["size"].dump());
  Fnv fnv;
  for (int64_t i = 0; i < size; ++i) {
    tw_tuple* out = nullptr;
    tw_layout_at_coord(answer.layout.get(), tuple_of(std::to_string(i)).get(), &out);
    const Tuple point(out);
    int64_t numbers[TW_LAYOUT_MAX_LEAVES];
    int32_t count = 0;
    tw_tuple_values(out, numbers, TW_LAYOUT_MAX_LEAVES, &count);
    for (int32_t k = 0; k < count; ++k) fnv.add(numbers[k]);
    const std::string text = text_of(out);
    if (i == 0 && wanted.contains("offset") && Json(text) != wanted["offset"])
      return differs("offset", text, wanted["offset"]);
    if (static_cast<size_t>(i) < table.size() && Json(text) != table[static_cast<size_t>(i)])
      return differs("tuple " + std::to_string(i), text, table[static_cast<size_t>(i)]);
  }
  if (wanted.contains("fnv") && Json(fnv.text()) != wanted["fnv"])
    return differs("hash of the tuples", fnv.text(), wanted["fnv"]);
  return "";
}

std::string tv_layout(const Answer& answer, const Json& line) {
  if (Json(answer.text) != line.at("result").at("tiler"))
    return differs("tiler", answer.text, line["result"]["tiler"]);
  return same_function_and_profile(answer, line);
}

std::string layout_info(const Answer& answer, const Json& line) {
  const Json& wanted = line.at("result");
  const tw_layout* layout = answer.layout.get();
  if (std::string text = exact_text(text_of(layout), wanted.at("text")); !text.empty()) return text;
  const std::string operand = line.at("inputs").at(0);
  if (std::string text = exact_text(run("shape", {operand}).text, wanted.at("shape"));
      !text.empty())
    return text;
  if (std::string text = exact_text(run("stride", {operand}).text, wanted.at("stride"));
      !text.empty())
    return text;
  int32_t rank = 0, depth = 0;
  int64_t cosize = 0;
  tw_layout_rank(layout, &rank);
  tw_layout_depth(layout, &depth);
  tw_layout_cosize(layout, &cosize);
  if (rank != wanted.at("rank"))
    return differs("rank", std::to_string(rank), wanted["rank"].dump());
  if (depth != wanted.at("depth"))
    return differs("depth", std::to_string(depth), wanted["depth"].dump());
  const Json& reach = wanted.contains("cosize_abs") ? wanted["cosize_abs"] : wanted.at("cosize");
  if (cosize != reach) return differs("cosize", std::to_string(cosize), reach.dump());
  return same_numbers(layout, 0, wanted);
}

/// The operation to run for a line, and the function that compares its answer.
struct Rule {
  const char* operation;  ///< its name in layout_ops.cpp; nullptr: the same name
  std::string (*equal)(const Answer&, const Json&);
};

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"layout_info", {"unchanged", layout_info}},
      {"crd2idx", {"at", exact_value}},
      {"idx2crd", {"unflatten", exact_value}},
      {"coalesce", {nullptr, flat_function}},
      {"filter", {nullptr, flat_function}},
      {"coalesce_by_mode", {"coalesce", same_function_and_profile}},
      {"filter_by_mode", {"filter", same_function_and_profile}},
      {"filter_zeros", {nullptr, same_function_and_profile}},
      {"composition", {nullptr, same_function_and_profile}},
      {"composition_tiler", {nullptr, same_function_and_profile}},
      {"complement", {nullptr, same_function}},
      {"right_inverse", {nullptr, is_right_inverse}},
      {"left_inverse", {nullptr, is_left_inverse}},
      {"logical_divide", {nullptr, same_function_and_profile}},
      {"zipped_divide", {nullptr, same_function_and_profile}},
      {"tiled_divide", {nullptr, same_function_and_profile}},
      {"flat_divide", {nullptr, same_function_and_profile}},
      {"logical_product", {nullptr, same_function_and_profile}},
      {"zipped_product", {nullptr, same_function_and_profile}},
      {"tiled_product", {nullptr, same_function_and_profile}},
      {"flat_product", {nullptr, same_function_and_profile}},
      {"blocked_product", {nullptr, same_function_and_profile}},
      {"raked_product", {nullptr, same_function_and_profile}},
      {"tile_to_shape", {nullptr, same_function_and_profile}},
      {"swizzle_apply", {nullptr, exact_value}},
      {"composed_layout", {"composed", same_function}},
      {"composed_crd2idx", {"at", exact_value}},
      {"composed_slice", {"slice", same_function}},
      {"composed_zipped_divide", {"zipped_divide", same_function}},
      {"composed_tile_to_shape", {"tile_to_shape", same_function}},
      {"composed_upcast",
       {"upcast",
        [](const Answer& answer, const Json& line) {
          return exact_text(text_of(answer.layout.get()), line["result"]["value"]);
        }}},
      {"composed_domain_offset",
       {"domain_offset",
        [](const Answer& answer, const Json& line) {
          return exact_text(
              "(" + text_of(answer.layout.get()) + "," + std::to_string(answer.offset) + ")",
              line["result"]["value"]);
        }}},
      {"slice", {nullptr, exact_layout}},
      {"slice_and_offset", {"slice", exact_part}},
      {"dice", {nullptr, exact_layout}},
      {"prefix_product", {nullptr, exact_value}},
      {"inner_product", {nullptr, exact_value}},
      {"product", {nullptr, exact_value}},
      {"shape_div", {nullptr, exact_value}},
      {"ceil_div", {"ceil_div_tiler", exact_value}},
      {"coshape", {"cosize", exact_value}},
      {"make_ordered_layout", {nullptr, same_strides}},
      {"make_layout_like", {nullptr, same_strides}},
      {"make_layout_left", {nullptr, same_strides}},
      {"make_layout_right", {nullptr, same_strides}},
      {"make_identity_layout", {nullptr, exact_layout}},
      {"make_layout_tv", {nullptr, tv_layout}},
      {"upcast", {nullptr, same_function_and_profile}},
      {"downcast", {nullptr, same_function_and_profile}},
      {"recast_layout", {"recast", same_function_and_profile}},
      {"nullspace", {nullptr, same_function}},
      {"max_common_layout", {nullptr, same_function}},
      {"max_common_vector", {nullptr, exact_value}},
      {"max_alignment", {nullptr, exact_value}},
      {"domain_distribute", {nullptr, same_function}},
      {"basis_table", {"unchanged", same_tuples}},
      {"local_tile", {"tile_by_shape", offset_and_table}},
      {"local_tile_identity", {"tile_of_identity", same_tuples}},
      {"local_partition", {nullptr, offset_and_table}},
  };
  return table;
}

std::string as_tiler(std::string shape) {
  for (char& c : shape) c = c == '(' ? '<' : c == ')' ? '>' : c;
  return shape;
}
std::string as_tuple(std::string tiler) {
  for (char& c : tiler) c = c == '<' ? '(' : c == '>' ? ')' : c;
  return tiler;
}

// Runs an operation, translating those that the files spell differently.
Answer run_line(const std::string& operation, std::vector<std::string> o) {
  if (operation == "unchanged") {
    Answer answer;
    answer.layout = layout_of(o.at(0));
    return answer;
  }
  if (operation == "unflatten")
    return run("at_coord", {text_of(run("make_identity_layout", {o.at(1)})), o.at(0)});
  if (operation == "composed") {
    Answer answer;
    answer.layout = layout_of(o.at(0) + " o " + o.at(1) + " o " + o.at(2));
    return answer;
  }
  if (operation == "ceil_div_tiler") return run("ceil_div", {o.at(0), as_tuple(o.at(1))});
  if (operation == "tile_by_shape") return run("tile", {o.at(0), as_tiler(o.at(1)), o.at(2)});
  if (operation == "tile_of_identity")
    return run("tile",
               {text_of(run("make_identity_layout", {o.at(0)})), as_tiler(o.at(1)), o.at(2)});
  return run(operation, o);
}

}  // namespace

std::string check_layout_line(const Json& line) {
  const std::string name = line.at("op"), expect = line.at("expect");
  const auto found = rules().find(name);
  if (found == rules().end()) return "operation " + name + " is not known";
  const bool known = expect == "value" || expect == "error" || expect == "post" ||
                     expect == "error_or_fn" || expect == "either";
  if (!known) return "expectation " + expect + " is not known";
  const Rule& rule = found->second;
  const Answer answer = run_line(rule.operation ? rule.operation : name, operands_of(line));
  if (expect == "either") return "";  // either outcome is right, but there must be one
  if (answer.status != TW_OK) {
    if (expect == "error" || expect == "error_or_fn") return "";
    return std::string("refused: ") + tw_last_error();
  }
  if (expect == "error") return "accepted: " + text_of(answer);
  return rule.equal(answer, line);
}

}  // namespace golden
