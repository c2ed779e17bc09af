// SPDX-License-Identifier: Apache-2.0
// Unpacking what fatbinary packs: output of zstd and lz4 themselves, truncated at every length, and
// with changed bytes.
#include "kernels/image/unpack.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "doctest_main.hpp"

using namespace tw;

namespace {

using Bytes = std::vector<uint8_t>;

/// The texts from which packed/ was made: nothing, one byte, one byte repeated, numbers, noise,
/// letters with long repeats, words.
Bytes sample(int kind) {
  static constexpr size_t kSizes[] = {0, 1, 300000, 200000, 2000, 140000, 5000};
  const size_t size = kSizes[kind];
  uint64_t state = static_cast<uint64_t>(kind) + 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  Bytes out;
  while (out.size() < size) {
    const uint64_t r = kind == 2 ? 0 : next();
    if (kind == 2) {
      out.push_back(0x41);
    } else if (kind == 3) {
      for (const char c : std::to_string(r % 10) + ", ") out.push_back(static_cast<uint8_t>(c));
    } else if (kind == 5 && r % 4 == 0 && out.size() > 100) {
      const size_t from = out.size() - 1 - r / 4 % std::min<size_t>(out.size(), 60000);
      const size_t count = std::min<size_t>((r >> 8) % 200 + 3, out.size() - from);
      for (size_t i = 0; i < count; ++i) out.push_back(out[from + i]);
    } else if (kind == 5) {
      out.push_back(static_cast<uint8_t>(97 + (r >> 5) % 7 * (r >> 9) % 7));
    } else if (kind == 1 || kind == 6) {
      out.push_back(static_cast<uint8_t>("the quick brown fox "[r % 20]));
    } else {
      out.push_back(static_cast<uint8_t>(r));
    }
  }
  out.resize(size);
  return out;
}

using Unpack = bool (*)(const uint8_t*, size_t, uint8_t*, size_t);

/// Calls body(unpack function, packed bytes, expected bytes, file) for each file.
template <class Body>
void each_file(Body&& body) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TW_PACKED_FOLDER)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const Bytes packed{std::istreambuf_iterator<char>(file), {}};
    const std::string name = entry.path().filename().string();
    INFO(name);
    const bool lz4 = entry.path().extension() == ".lz4";
    body(lz4 ? unpack_lz4 : unpack_zstd, packed, sample(name[0] - '0'), name);
    ++files;
  }
  CHECK(files == 14);
}

}  // namespace

TEST_CASE("unpack: what zstd and lz4 packed comes back") {
  each_file([](Unpack unpack, const Bytes& packed, const Bytes& wanted, const std::string&) {
    Bytes out(wanted.size());
    CHECK(unpack(packed.data(), packed.size(), out.data(), out.size()));
    CHECK(out == wanted);
    // Any other size of the output is an error.
    Bytes more(wanted.size() + 1);
    CHECK_FALSE(unpack(packed.data(), packed.size(), more.data(), more.size()));
    if (!wanted.empty())
      CHECK_FALSE(unpack(packed.data(), packed.size(), out.data(), out.size() - 1));
  });
}

TEST_CASE("unpack: a truncated input is refused") {
  each_file([](Unpack unpack, const Bytes& packed, const Bytes& wanted, const std::string&) {
    Bytes out(wanted.size());
    const size_t step = packed.size() / 60 + 1;
    for (size_t size = 0; size < packed.size(); size += step) {
      // A copy of exactly this size, so that sanitizers detect a read past its end.
      const Bytes part(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(size));
      CHECK_FALSE(unpack(part.data(), part.size(), out.data(), out.size()));
    }
  });
}

TEST_CASE("unpack: a changed input ends in an answer") {
  each_file([](Unpack unpack, const Bytes& packed, const Bytes& wanted, const std::string&) {
    Bytes out(wanted.size());
    int refused = 0, changed = 0;
    const size_t step = packed.size() / 60 + 1;
    for (size_t at = 0; at < packed.size(); at += step)
      for (const int bit : {1, 16, 128}) {
        Bytes bytes = packed;
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ bit);
        if (!unpack(bytes.data(), bytes.size(), out.data(), out.size()))
          ++refused;
        else
          changed += out != wanted;
      }
    CHECK(refused + changed > 0);
  });
}
