// SPDX-License-Identifier: Apache-2.0
// golden_check KIND FILE...: compares the library with files of recorded answers, one JSON object a
// line, plain or gzip-compressed if built with zlib. Prints the number of lines and of differences,
// and the first differences. Exits with 1 on any difference and on an unknown kind.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "layout_lines.hpp"
#include "line_file.hpp"
#include "lines.hpp"

namespace {

using Check = std::string (*)(const nlohmann::json& line);

struct Kind {
  const char* name;
  Check check;
};

constexpr Kind kKinds[] = {
    {"layout", golden::check_layout_line},
    {"tensor_map", golden::check_tensor_map_line},
    {"tma", golden::check_tma_line},
};

constexpr int kShown = 10;

std::string check_text(Check check, const std::string& text) {
  try {
    return check(nlohmann::json::parse(text));
  } catch (const std::exception& error) {
    return std::string("cannot be checked: ") + error.what();
  }
}

/// Whether the file could be read and no line differs.
bool check_file(const Kind& kind, const char* path) {
  golden::LineFile lines(path);
  if (!lines.is_open()) {
    std::fprintf(stderr, "%s: cannot be opened\n", path);
    return false;
  }
  long checked = 0, differ = 0, number = 0;
  std::string text;
  while (lines.next(&text)) {
    ++number;
    if (text.empty()) continue;
    ++checked;
    const std::string difference = check_text(kind.check, text);
    if (difference.empty()) continue;
    if (++differ > kShown) continue;
    std::printf("%s:%ld: %s\n", path, number, difference.c_str());
    std::printf("  %.400s\n", text.c_str());
  }
  const bool damaged = lines.is_damaged();
  if (damaged) std::printf("%s: damaged behind line %ld\n", path, number);
  if (checked == 0) std::printf("%s: no line\n", path);
  std::printf("%s: %ld checked, %ld differ\n", path, checked, differ);
  return checked > 0 && differ == 0 && !damaged;
}

int usage() {
  std::fprintf(stderr, "golden_check KIND FILE...   KIND is");
  for (const Kind& kind : kKinds) std::fprintf(stderr, " %s", kind.name);
  std::fprintf(stderr, "; files are .jsonl or .jsonl.gz\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  for (const Kind& kind : kKinds) {
    if (std::strcmp(argv[1], kind.name) != 0) continue;
    bool good = true;
    for (int i = 2; i < argc; ++i) good = check_file(kind, argv[i]) && good;
    return good ? 0 : 1;
  }
  return usage();
}
