// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's body over files and folders of inputs, for builds without libFuzzer: the corpus
// is part of the normal tests. With --random COUNT it makes inputs up too.
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

void run(const std::vector<char>& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  ++g_inputs;
}

void run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  run(std::vector<char>(std::istreambuf_iterator<char>(file), {}));
}

void run_random(long count) {
  uint64_t state = 1;
  std::vector<char> bytes;
  for (long i = 0; i < count; ++i) {
    bytes.clear();
    for (int k = 0; k < 64; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes.push_back(static_cast<char>(state >> 56));
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
