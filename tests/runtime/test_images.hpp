// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small module images, built byte by byte from the definitions of their formats.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tw::test {

using Image = std::vector<unsigned char>;

template <class T>
void put(Image* image, size_t offset, T value) {
  if (image->size() < offset + sizeof value) image->resize(offset + sizeof value);
  std::memcpy(image->data() + offset, &value, sizeof value);
}

/// A cubin for sm_90: file header, one program header, two sections, 16 bytes of contents.
inline Image make_cubin() {
  Image image(64);
  std::memcpy(image.data(), "\177ELF\2\1\1\101\10", 9);
  put<uint16_t>(&image, 16, 2);         // executable
  put<uint16_t>(&image, 18, 190);       // EM_CUDA
  put<uint32_t>(&image, 20, 1);         // version
  put<uint32_t>(&image, 48, 90u << 8);  // SM, in ABI version 8
  put<uint16_t>(&image, 52, 64);
  put<uint16_t>(&image, 54, 56);
  put<uint16_t>(&image, 58, 64);
  for (int i = 0; i < 16; ++i) image.push_back(static_cast<unsigned char>(i));  // at offset 64
  const size_t sections = image.size();
  put<uint64_t>(&image, 40, sections);
  put<uint16_t>(&image, 60, 2);
  put<uint16_t>(&image, 62, 0);
  image.resize(sections + 2 * 64);
  put<uint32_t>(&image, sections + 4, 3);  // string table
  put<uint64_t>(&image, sections + 24, 64);
  put<uint64_t>(&image, sections + 32, 16);
  put<uint32_t>(&image, sections + 64 + 4, 8);  // no bits in the file, whatever its size
  put<uint64_t>(&image, sections + 64 + 24, 80);
  put<uint64_t>(&image, sections + 64 + 32, uint64_t{1} << 40);
  const size_t segments = image.size();
  put<uint64_t>(&image, 32, segments);
  put<uint16_t>(&image, 56, 1);
  image.resize(segments + 56);
  put<uint64_t>(&image, segments + 8, 64);
  put<uint64_t>(&image, segments + 32, 16);
  return image;
}

inline void add_fatbin_entry(Image* fatbin, uint16_t kind, uint32_t sm, const Image& payload) {
  const size_t entry = fatbin->size();
  fatbin->resize(entry + 64);
  put<uint16_t>(fatbin, entry, kind);
  put<uint16_t>(fatbin, entry + 2, 0x101);
  put<uint32_t>(fatbin, entry + 4, 64);
  put<uint64_t>(fatbin, entry + 8, payload.size());
  put<uint32_t>(fatbin, entry + 28, sm);
  fatbin->insert(fatbin->end(), payload.begin(), payload.end());
  put<uint64_t>(fatbin, 8, fatbin->size() - 16);
}

/// A fatbin with a cubin for sm_90 and PTX for compute_90.
inline Image make_fatbin() {
  Image fatbin(16);
  put<uint32_t>(&fatbin, 0, 0xba55ed50);
  put<uint16_t>(&fatbin, 4, 1);
  put<uint16_t>(&fatbin, 6, 16);
  add_fatbin_entry(&fatbin, 2, 90, make_cubin());
  add_fatbin_entry(&fatbin, 1, 90, Image(40, 'x'));
  return fatbin;
}

inline std::string make_ptx() {
  return "// made by hand\n.version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k() { ret; }\n";
}

}  // namespace tw::test
