// SPDX-License-Identifier: Apache-2.0
// Tests the layout checker: it must notice any single change of a recorded layout line.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "layout_lines.hpp"
#include "line_file.hpp"

namespace golden {
namespace {

using Json = nlohmann::json;

std::vector<Json> lines(const char* name) {
  LineFile file(std::string(TW_GOLDEN_DIR) + "/" + name + TW_GOLDEN_ENDING);
  REQUIRE(file.is_open());
  std::vector<Json> out;
  std::string text;
  while (file.next(&text)) out.push_back(Json::parse(text));
  REQUIRE(!out.empty());
  return out;
}

std::string outcome(const Json& line) {
  try {
    return check_layout_line(line);
  } catch (const std::exception& error) {
    return error.what();
  }
}

void change_number(Json* number) {
  *number = number->get<int64_t>() + 1;
}

void change_text(std::string* text) {
  for (char& c : *text)
    if (c >= '0' && c <= '9') {
      c = c == '9' ? '8' : static_cast<char>(c + 1);
      return;
    }
}

// Changes the recorded answer; returns false if the line leaves the answer open.
bool alter(Json* line) {
  Json* result = nullptr;
  if ((*line)["expect"] == "value") result = &(*line)["result"];
  if ((*line)["expect"] == "post" && (*line)["op"] == "right_inverse") {
    (*line)["min_size"] = (*line)["min_size"].get<int64_t>() * 1000 + 1000;
    return true;
  }
  if (!result) return false;
  if ((*line)["op"] == "right_inverse") {
    change_number(&(*result)["size"]);
    return true;
  }
  for (const char* field : {"fnv", "value", "tiler", "offset"}) {
    if (!result->contains(field)) continue;
    Json& answer = (*result)[field];
    if (answer.is_array()) {
      answer.push_back(1);
    } else if (answer.is_number()) {
      change_number(&answer);
    } else {
      std::string text = answer;
      if (std::string(field) == "fnv")
        text.back() = text.back() == '0' ? '1' : '0';
      else
        change_text(&text);
      answer = text;
    }
    return true;
  }
  if (!result->contains("table") || (*result)["table"].empty()) return false;
  Json& last = (*result)["table"].back();
  if (last.is_number()) {
    change_number(&last);
  } else {
    std::string text = last;
    change_text(&text);
    last = text;
  }
  return true;
}

}  // namespace

TEST_CASE("changed answers of every operation are noticed") {
  std::set<std::string> altered;
  int count = 0;
  for (const char* name : {"layout/random.jsonl", "layout/extended.jsonl"}) {
    for (Json& line : lines(name)) {
      if (++count % 3 != 0 && altered.count(line["op"])) continue;
      const std::string text = line.dump().substr(0, 300);
      CAPTURE(text);
      REQUIRE(outcome(line) == "");
      if (!alter(&line)) continue;
      altered.insert(line["op"]);
      CHECK(outcome(line) != "");
    }
  }
  CHECK(altered.size() >= 50);
}

TEST_CASE("a refusal where a layout is wanted is noticed, and the other way round") {
  for (Json& line : lines("layout/random.jsonl")) {
    if (line["op"] != "composition" || line["expect"] == "either") continue;
    const std::string text = line.dump().substr(0, 300);
    CAPTURE(text);
    if (line["expect"] == "value") {
      line["expect"] = "error";
      CHECK(outcome(line) != "");
    } else if (line["expect"] == "error") {
      line["expect"] = "value";
      CHECK(outcome(line) != "");
    }
  }
}

TEST_CASE("a profile that does not fit is noticed") {
  Json line = Json::parse(
      R"x({"op":"composition","inputs":["(4,8):(1,4)","(8,2):(1,8)"],"expect":"value",
           "result":{"size":16,"fnv":"0x3f71fbaf4605ff25"},"ref_shape":[8,2]})x");
  CHECK(outcome(line) == "");
  line["ref_shape"] = Json::parse("[2,8]");
  CHECK(outcome(line) != "");
}

TEST_CASE("lines of a kind that is not known differ") {
  Json line = lines("layout/random.jsonl").front();
  Json other = line;
  other["op"] = "transpose";
  CHECK(outcome(other) != "");
  other = line;
  other["expect"] = "maybe";
  CHECK(outcome(other) != "");
  other = line;
  other.erase("result");
  CHECK(outcome(other) != "");
}

}  // namespace golden
