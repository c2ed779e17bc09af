// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/precompiled.hpp"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/image/kernel_images.hpp"
#include "kernels/image/unpack.hpp"

namespace tw {
namespace {

constexpr Family kFamilies[] = {
#define TW_FAMILY(name, value) Family::name,
#include "kernels/families.inc"
#undef TW_FAMILY
};

/// Calls `visit` for each embedded kernel and target until it returns true.
template <class Visit>
bool each(Visit&& visit) {
  for (const Family family : kFamilies)
    for (const KernelEntry& entry : kernel_entries(family)) {
      if (!entry.image || kernel_left_out(entry)) continue;
      const KernelImage image = kernel_image(entry.image);
      if (image.size == 0) continue;
      for (const Target& target : targets()) {
        FatbinEntry packed;
        if ((target.features & entry.feature) == 0 ||
            !find_entry(image.data, image.size, target, &packed))
          continue;
        if (visit(Precompiled{&entry, &target})) return true;
      }
    }
  return false;
}

template <class T>
T at(const uint8_t* data, size_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof value);
  return value;
}

}  // namespace

TargetRange targets() {
  using namespace feature;  // NOLINT: the names of archs.inc
  constexpr bool elf = false, ptx = true;
  // std::atoi ignores the letter of "90a".
  static const Target kTargets[] = {
#define TW_ARCH(name, kind, sm, features) \
  {#name, kind, static_cast<uint32_t>(std::atoi(#sm)), features},
#include "base/archs.inc"
#undef TW_ARCH
  };
  return {std::begin(kTargets), std::end(kTargets)};
}

int32_t precompiled_count() {
  int32_t count = 0;
  each([&](const Precompiled&) { return ++count, false; });
  return count;
}

bool precompiled_at(int32_t index, Precompiled* out) {
  return each([&](const Precompiled& kernel) {
    *out = kernel;
    return index-- == 0;
  });
}

Status find_precompiled(const char* name, const char* target, Precompiled* out) {
  std::string others;
  const bool found = each([&](const Precompiled& kernel) {
    if (std::strcmp(kernel.entry->symbol, name) != 0) return false;
    *out = kernel;
    if (std::strcmp(kernel.target->name, target) == 0) return true;
    others += (others.empty() ? "" : ", ") + std::string(kernel.target->name);
    return false;
  });
  if (found) return Code::OK;
  if (others.empty())
    return fail(Code::ERROR_NOT_FOUND, {.argument = "name"},
                "there is no precompiled kernel \"%s\": tw_embedded_kernel_get() lists the names",
                name);
  return fail(Code::ERROR_NOT_FOUND, {.argument = "target"},
              "kernel %s is not embedded for target \"%s\", only for %s", name, target,
              others.c_str());
}

Status precompiled_image(const Precompiled& kernel, FatbinEntry* out) {
  const KernelImage image = kernel_image(kernel.entry->image);
  if (find_entry(image.data, image.size, *kernel.target, out)) return Code::OK;
  return fail(Code::ERROR_INTERNAL, {},
              "the image of kernel %s for target %s was listed but is not found",
              kernel.entry->symbol, kernel.target->name);
}

bool find_entry(const void* fatbin, size_t size, const Target& target, FatbinEntry* out) {
  // A 16-byte header, then entries: each has a header, which contains its length, and a payload.
  constexpr size_t kHeader = 16, kEntryHeader = 64;
  constexpr uint16_t kPtx = 1, kElf = 2;
  constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
  const auto* data = static_cast<const uint8_t*>(fatbin);
  if (size < kHeader || at<uint32_t>(data, 0) != 0xba55ed50) return false;
  for (size_t offset = at<uint16_t>(data, 6);
       size >= kEntryHeader && offset <= size - kEntryHeader;) {
    const uint8_t* entry = data + offset;
    const size_t header = at<uint32_t>(entry, 4);
    const uint64_t payload = at<uint64_t>(entry, 8);
    const size_t room = size - offset;
    if (header < kEntryHeader || header > room || payload > room - header) return false;
    if (at<uint16_t>(entry, 0) == (target.ptx ? kPtx : kElf) &&
        at<uint32_t>(entry, 28) == target.sm) {
      const uint64_t flags = at<uint64_t>(entry, 40);
      const uint32_t packed = at<uint32_t>(entry, 16);
      *out = {entry + header,
              static_cast<size_t>(payload),
              static_cast<size_t>(payload),
              FatbinEntry::Packing::none,
              {at<uint16_t>(entry, 26), at<uint16_t>(entry, 24)}};
      if (packed == 0) return true;
      if (packed > payload) return false;
      out->packed_size = packed;
      out->size = at<uint64_t>(entry, 56);
      out->packing = flags & kZstd ? FatbinEntry::Packing::zstd : FatbinEntry::Packing::lz4;
      return (flags & (kZstd | kLz4)) != 0;
    }
    offset += header + payload;
  }
  return false;
}

Status unpack(const FatbinEntry& entry, void* out) {
  auto* bytes = static_cast<uint8_t*>(out);
  bool good = true;
  switch (entry.packing) {
    case FatbinEntry::Packing::none:
      std::memcpy(bytes, entry.data, entry.size);
      break;
    case FatbinEntry::Packing::lz4:
      good = unpack_lz4(entry.data, entry.packed_size, bytes, entry.size);
      break;
    case FatbinEntry::Packing::zstd:
      good = unpack_zstd(entry.data, entry.packed_size, bytes, entry.size);
      break;
  }
  if (good) return Code::OK;
  return fail(Code::ERROR_UNSUPPORTED, {.got = static_cast<int64_t>(entry.packed_size)},
              "cannot unpack the embedded image of %zu bytes: unsupported compression or damaged",
              entry.packed_size);
}

}  // namespace tw
