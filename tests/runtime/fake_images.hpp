// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the fake driver selects code from a fatbin: by the flags that fatbinary writes into each
// entry and the names in its code. It does not use the library's own tables, because the tests look
// for faults there.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fake_driver.hpp"
#include "kernels/image/precompiled.hpp"

namespace tw::test {
namespace fake_image {

template <class T>
T at(const uint8_t* data, size_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof value);
  return value;
}

inline constexpr size_t kHeader = 16;
inline constexpr uint32_t kMagic = 0xba55ed50;
inline constexpr uint64_t kOneChip = 0x100000, kFamily = 0x200000;  // the suffixes a and f

struct Entry {
  const uint8_t* begin;
  const uint8_t* end;
  bool ptx() const { return at<uint16_t>(begin, 0) == 1; }
  uint32_t sm() const { return at<uint32_t>(begin, 28); }
  uint64_t flags() const { return at<uint64_t>(begin, 40); }
  std::string target() const {
    const char* letter = flags() & kOneChip ? "a" : flags() & kFamily ? "f" : "";
    return (ptx() ? "compute_" : "sm_") + std::to_string(sm()) + letter;
  }
};

inline std::vector<Entry> entries_of(const uint8_t* fatbin) {
  std::vector<Entry> out;
  const uint8_t* const end = fatbin + kHeader + at<uint64_t>(fatbin, 8);
  for (const uint8_t* p = fatbin + kHeader; p < end; p = out.back().end)
    out.push_back({p, p + at<uint32_t>(p, 4) + at<uint64_t>(p, 8)});
  return out;
}

inline bool runs_on(const Entry& entry, uint32_t chip) {
  if (entry.flags() & kOneChip) return entry.sm() == chip;
  if (entry.ptx()) return entry.sm() <= chip;
  return entry.sm() / 10 == chip / 10 && entry.sm() <= chip;
}

/// The first CUDA version whose drivers know this code.
inline int known_since(const Entry& entry) {
  const uint16_t minor = at<uint16_t>(entry.begin, 24), major = at<uint16_t>(entry.begin, 26);
  if (!entry.ptx()) return minor >= 8 ? 13000 : 12000;  // from the version of the ELF file's ABI
  constexpr int kOf8[] = {0, 1, 2, 3, 4, 5, 7, 8, 9};
  if (major == 8 && minor < 9) return 12000 + 10 * kOf8[minor];
  return major >= 9 ? 13000 + 10 * minor : 0;
}

/// The names that follow a mark; each ends at `stop`.
inline std::set<std::string> names_behind(const std::string& text, const std::string& mark,
                                          char stop) {
  std::set<std::string> out;
  for (size_t p = text.find(mark); p != text.npos; p = text.find(mark, p + 1)) {
    const size_t begin = p + mark.size();
    out.insert(text.substr(begin, text.find(stop, begin) - begin));
  }
  return out;
}

inline const std::set<std::string>* kernels_in(const Entry& entry) {
  static std::map<const uint8_t*, std::set<std::string>> known;
  const uint32_t packed = at<uint32_t>(entry.begin, 16);
  if (packed == 0) return nullptr;
  const auto found = known.find(entry.begin);
  if (found != known.end()) return &found->second;
  FatbinEntry image{entry.begin + at<uint32_t>(entry.begin, 4), packed,
                    at<uint64_t>(entry.begin, 56), FatbinEntry::Packing::zstd};
  if ((entry.flags() & 0x8000) == 0) image.packing = FatbinEntry::Packing::lz4;
  std::string text(image.size, '\0');
  if (!unpack(image, text.data()).ok()) return nullptr;
  return &(known[entry.begin] = entry.ptx() ? names_behind(text, ".entry ", '(')
                                            : names_behind(text, ".text.", '\0'));
}

}  // namespace fake_image

/// Selects the code that a driver of this state's version loads for its chip, or returns why there
/// is none. Anything but a fatbin is accepted unchanged. `kernels` receives the kernel names if the
/// fatbin is packed as the library's are, else nullptr; the names live until the process ends.
inline CUresult take_code(const void* image, const FakeState& state,
                          const std::set<std::string>** kernels) {
  using namespace fake_image;
  const auto* fatbin = static_cast<const uint8_t*>(image);
  if (at<uint32_t>(fatbin, 0) != kMagic) return CUDA_SUCCESS;
  const char* forced = std::getenv("CUDA_FORCE_PTX_JIT");
  const bool ptx_only = forced && std::strcmp(forced, "1") == 0;
  const auto chip = static_cast<uint32_t>(state.compute_major * 10 + state.compute_minor);
  const std::vector<Entry> entries = entries_of(fatbin);
  const Entry* taken = nullptr;
  for (const Entry& entry : entries)
    if (runs_on(entry, chip) && (entry.ptx() || !ptx_only) && (!taken || taken->ptx()))
      taken = &entry;
  if (!taken) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (known_since(*taken) > state.version)
    return taken->ptx() ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_IMAGE;
  *kernels = kernels_in(*taken);
  return CUDA_SUCCESS;
}

/// A copy of a fatbin with only the entries for these targets, such as "sm_90a", "compute_90".
inline std::vector<uint8_t> with_targets(const void* fatbin, size_t size,
                                         const std::set<std::string>& targets) {
  using namespace fake_image;
  const auto* data = static_cast<const uint8_t*>(fatbin);
  if (size < kHeader) return {};
  std::vector<uint8_t> out(data, data + kHeader);
  for (const Entry& entry : entries_of(data))
    if (targets.count(entry.target()) != 0) out.insert(out.end(), entry.begin, entry.end);
  const uint64_t body = out.size() - kHeader;
  std::memcpy(out.data() + 8, &body, sizeof body);
  return out;
}

}  // namespace tw::test
