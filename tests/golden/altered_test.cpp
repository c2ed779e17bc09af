// SPDX-License-Identifier: Apache-2.0
// Tests the checkers: after any single change a recorded line must be reported as different.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "line_file.hpp"
#include "lines.hpp"

namespace golden {
namespace {

using Json = nlohmann::json;

std::vector<Json> lines(const char* name, size_t count) {
  LineFile file(std::string(TW_GOLDEN_DIR) + "/" + name + TW_GOLDEN_ENDING);
  REQUIRE(file.is_open());
  std::vector<Json> out;
  std::string text;
  while (out.size() < count && file.next(&text)) out.push_back(Json::parse(text));
  REQUIRE(!out.empty());
  return out;
}

using Check = std::string (*)(const Json&);

// Every line that `alter` changes passes before and fails after; at least one line must be changed.
void alter_all(const char* name, Check check, const std::function<bool(Json&)>& alter) {
  int altered = 0;
  for (Json& line : lines(name, 60)) {
    const std::string before = check(line);
    CHECK(before == "");
    if (!alter(line)) continue;
    ++altered;
    std::string after;
    try {
      after = check(line);
    } catch (const std::exception& error) {
      after = error.what();
    }
    const std::string text = line.dump().substr(0, 300);
    CAPTURE(text);
    CHECK(after != "");
  }
  CHECK(altered > 0);
}

std::string with_digit_changed(std::string text, size_t at) {
  text[at] = text[at] == '0' ? '1' : '0';
  return text;
}

TEST_CASE("tensor maps: answers, bytes and arguments that were changed are noticed") {
  for (const char* name :
       {"tensor_map/tiled.jsonl", "tensor_map/im2col.jsonl", "tensor_map/im2col_wide.jsonl"}) {
    alter_all(name, check_tensor_map_line, [](Json& line) {
      line["result"] = line["result"] == 0 ? 1 : 0;
      if (line["result"] == 0 && !line.contains("map")) line["map"] = std::string(256, '0');
      return true;
    });
    for (const size_t digit : {0u, 15u, 31u, 100u, 140u, 255u})
      alter_all(name, check_tensor_map_line, [&](Json& line) {
        if (line["result"] != 0) return false;
        line["map"] = with_digit_changed(line["map"], digit);
        return true;
      });
    for (const char* field : {"rank", "dtype", "interleave", "l2", "swizzle"})
      alter_all(name, check_tensor_map_line, [&](Json& line) {
        if (line["result"] != 0) return false;
        line[field] = line[field] == 3 ? 1 : 3;
        return true;
      });
    alter_all(name, check_tensor_map_line, [](Json& line) {
      line["call"] = "wide";
      return true;
    });
    alter_all(name, check_tensor_map_line, [](Json& line) {
      line["result"] = 2;
      return true;
    });
    alter_all(name, check_tensor_map_line, [](Json& line) {
      if (line["result"] != 0) return false;
      line.erase("map");
      return true;
    });
  }
}

TEST_CASE("copy engine: hashes, counts and results that were changed are noticed") {
  for (const char* name : {"tma/load.jsonl", "tma/im2col.jsonl", "tma/store.jsonl",
                           "tma/reduce.jsonl", "tma/reduce_bits.jsonl"}) {
    alter_all(name, check_tma_line, [](Json& line) {
      if (line["cuda"] != 0) return false;
      line["hash"] = with_digit_changed(line["hash"], 7);
      return true;
    });
    alter_all(name, check_tma_line, [](Json& line) {
      line["cuda"] = line["cuda"] == 0 ? 715 : 0;
      if (!line.contains("hash")) line["hash"] = "0";
      return true;
    });
    alter_all(name, check_tma_line, [](Json& line) {
      if (line["cuda"] != 0) return false;
      line["tx"] = line["tx"].get<int>() + 16;
      return true;
    });
    alter_all(name, check_tma_line, [](Json& line) {
      for (const char* field : {"touched", "changed"})
        if (line.contains(field)) {
          line[field] = line[field].get<int>() + 1;
          return true;
        }
      return false;
    });
    alter_all(name, check_tma_line, [](Json& line) {
      line["kind"] = "prefetch";
      return true;
    });
  }
  alter_all("tma/reduce_bits.jsonl", check_tma_line, [](Json& line) {
    if (line["samples"].empty()) return false;
    line["samples"][0][2] = with_digit_changed(line["samples"][0][2], 3);
    return true;
  });
  alter_all("tma/load.jsonl", check_tma_line, [](Json& line) {
    if (!line.contains("bytes")) return false;
    line["bytes"] = with_digit_changed(line["bytes"], 1);
    return true;
  });
}

}  // namespace
}  // namespace golden
