// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's body over files and folders of inputs, so that the corpus is tested in builds
// without libFuzzer. With --random COUNT it also generates inputs; half of them are given inputs
// that it truncates or in which it replaces numbers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int g_inputs = 0;
std::vector<std::vector<char>> g_given;

uint64_t draw() {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

void run(const std::vector<char>& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  ++g_inputs;
}

void run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  g_given.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  run(g_given.back());
}

/// Truncates the input, or replaces one to eight bytes by an unlikely length or offset.
void edit(std::vector<char>* bytes) {
  const size_t size = bytes->size();
  if (size == 0) return;
  if (draw() % 4 == 0) return bytes->resize(draw() % size);
  const size_t at = draw() % 2 ? draw() % size : draw() % std::min<size_t>(size, 128);
  const size_t length = std::min<size_t>(size_t{1} << draw() % 4, size - at);
  const uint64_t numbers[] = {0, 1, draw(), ~uint64_t{0}, size, uint64_t{1} << draw() % 64};
  const uint64_t number = numbers[draw() % 6];
  std::memcpy(bytes->data() + at, &number, length);
}

void run_random(long count) {
  std::vector<char> bytes;
  for (long i = 0; i < count; ++i) {
    if (i % 2 && !g_given.empty()) {
      bytes = g_given[draw() % g_given.size()];
      for (uint64_t edits = 1 + draw() % 3; edits > 0; --edits) edit(&bytes);
    } else {
      bytes.clear();
      for (int k = 0; k < 64; ++k) bytes.push_back(static_cast<char>(draw() >> 20));
    }
    run(bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--random") == 0 && i + 1 < argc) {
      run_random(std::strtol(argv[++i], nullptr, 10));
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) run_file(entry.path());
    } else {
      run_file(argv[i]);
    }
  }
  std::printf("%d inputs\n", g_inputs);
  return g_inputs > 0 ? 0 : 1;
}
