// SPDX-License-Identifier: Apache-2.0
// Evaluates every "Example:" line of the layout header, and requires one for every operation.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../golden/layout_ops.hpp"
#include "doctest_main.hpp"

namespace {

struct Example {
  std::string operation;
  std::vector<std::string> operands;
  std::string answer;
};

// The comments of the layout header, each as one line.
std::string comments_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::stringstream all;
  all << file.rdbuf();
  std::string text = all.str();
  const size_t begin = text.find("@defgroup layout"), end = text.find("@defgroup", begin + 1);
  REQUIRE(begin < end);
  text = text.substr(begin, end - begin);
  for (size_t at; (at = text.find("\n *  ")) != std::string::npos;) text.replace(at, 5, " ");
  return text;
}

std::string quoted(const std::string& text, size_t* at) {
  const size_t close = text.find('"', *at + 1);
  REQUIRE(close != std::string::npos);
  const std::string inside = text.substr(*at + 1, close - *at - 1);
  *at = close + 1;
  return inside;
}

Example read(const std::string& text, size_t at) {
  Example example;
  const size_t open = text.find('(', at);
  example.operation = text.substr(at, open - at);
  at = open + 1;
  while (text[at] != ')') {
    if (text[at] == '"') {
      example.operands.push_back(quoted(text, &at));
    } else {
      const size_t stop = text.find_first_of(",)", at);
      example.operands.push_back(text.substr(at, stop - at));
      at = stop;
    }
    while (text[at] == ',' || text[at] == ' ') ++at;
  }
  at = text.find('=', at) + 2;
  if (text[at] == '"')
    example.answer = quoted(text, &at);
  else
    example.answer = text.substr(at, text.find_first_of(" \n", at) - at);
  return example;
}

}  // namespace

TEST_CASE("the header's examples are true") {
  const std::string text = comments_of(TW_HEADER);
  const std::string mark = "Example: ";
  std::set<std::string> seen;
  for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += mark.size()) {
    const Example example = read(text, at + mark.size());
    seen.insert(example.operation);
    const std::string line = text.substr(at, 160);
    CAPTURE(line);
    std::string got;
    try {
      got = golden::text_of(golden::run(example.operation, example.operands));
    } catch (const std::exception& error) {
      got = error.what();
    }
    CHECK(got == example.answer);
  }
  CHECK(seen.size() >= 80);
}

TEST_CASE("every function has an example, but for those that make, destroy, write and draw") {
  const std::string text = comments_of(TW_HEADER);
  const std::regex function(R"(TW_API tw_status (tw_\w+)\()");
  const std::regex exempt("parse|create|format|draw|tuple_values|tiler_from_layout|tiler_by_mode");
  size_t before = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    const auto at = static_cast<size_t>(it->position());
    const std::string name = (*it)[1];
    CAPTURE(name);
    if (!std::regex_search(name, exempt))
      CHECK(text.substr(before, at - before).find("Example: ") != std::string::npos);
    before = at;
  }
  CHECK(before > 0);
}
