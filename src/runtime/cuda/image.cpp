// SPDX-License-Identifier: Apache-2.0
// Formats: a cubin is an ELF64 file (System V gABI) with e_machine EM_CUDA. A fatbin is a header of
// 16 bytes followed by entries. Each entry is a header, which has its own length, and a payload.
#include "runtime/cuda/image.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace tw {
namespace {

/// A range of bytes. The caller checks bounds with holds() before it reads with at() or part().
class Bytes {
 public:
  Bytes(const void* data, size_t size)
      : data_(static_cast<const unsigned char*>(data)), size_(size) {}
  size_t size() const { return size_; }
  const unsigned char* data() const { return data_; }
  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  template <class T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }
  Bytes part(uint64_t offset, uint64_t length) const {
    return {data_ + offset, static_cast<size_t>(length)};
  }

 private:
  const unsigned char* data_;
  size_t size_;
};

[[gnu::format(printf, 2, 3)]] Status damaged(uint64_t offset, const char* format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fail(Code::ERROR_INVALID_IMAGE, {.argument = "image", .got = static_cast<int64_t>(offset)},
              "%s", text);
}

[[gnu::format(printf, 2, 3)]] void add_contents(ImageSummary* summary, const char* format, ...) {
  const size_t used = std::strlen(summary->contents);
  if (used + 2 >= sizeof summary->contents) return;
  va_list args;
  va_start(args, format);
  const char* separator = used == 0 ? "" : ", ";
  std::strcpy(summary->contents + used, separator);
  std::vsnprintf(summary->contents + used + std::strlen(separator),
                 sizeof summary->contents - used - std::strlen(separator), format, args);
  va_end(args);
}

using llu = unsigned long long;

// --- ELF ---

constexpr uint16_t kMachineCuda = 190;
constexpr uint64_t kElfHeaderBytes = 64;
constexpr uint64_t kSectionHeaderBytes = 64;
constexpr uint64_t kProgramHeaderBytes = 56;
constexpr uint32_t kNoBits = 8;
constexpr uint32_t kFirstProcessorType = 0x70000000;

/// The SM number. From ABI version 8 on it is in bits 8 to 15 of e_flags, before in bits 0 to 7.
unsigned elf_sm(const Bytes& elf) {
  const uint32_t flags = elf.at<uint32_t>(48);
  return elf.at<uint8_t>(8) >= 8 ? flags >> 8 & 0xff : flags & 0xff;
}

Status check_sections(const Bytes& elf, uint64_t base) {
  const uint64_t table = elf.at<uint64_t>(40);
  const uint64_t count = elf.at<uint16_t>(60);
  if (count == 0) return damaged(base, "the cubin at byte %llu has no sections", llu(base));
  if (elf.at<uint16_t>(58) != kSectionHeaderBytes || !elf.holds(table, count * kSectionHeaderBytes))
    return damaged(
        base + table,
        "the cubin's %llu section headers at byte %llu end past its %zu bytes: the image "
        "is truncated or damaged",
        llu(count), llu(table), elf.size());
  if (elf.at<uint16_t>(62) >= count)
    return damaged(base + 62, "the cubin's string section %u does not exist among %llu",
                   elf.at<uint16_t>(62), llu(count));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t header = table + i * kSectionHeaderBytes;
    const uint32_t type = elf.at<uint32_t>(header + 4);
    const uint64_t offset = elf.at<uint64_t>(header + 24);
    // NOBITS sections, and some of NVIDIA's own types, have a size but no bytes in the file. Only
    // their offset is checked.
    const bool has_bytes = type != kNoBits && type < kFirstProcessorType;
    const uint64_t length = has_bytes ? elf.at<uint64_t>(header + 32) : 0;
    if (!elf.holds(offset, length))
      return damaged(base + header,
                     "section %llu of the cubin, %llu bytes at %llu, ends past its %zu bytes: the "
                     "image is truncated or damaged",
                     llu(i), llu(length), llu(offset), elf.size());
  }
  return Code::OK;
}

Status check_segments(const Bytes& elf, uint64_t base) {
  const uint64_t table = elf.at<uint64_t>(32);
  const uint64_t count = elf.at<uint16_t>(56);
  if (count == 0) return Code::OK;
  if (elf.at<uint16_t>(54) != kProgramHeaderBytes || !elf.holds(table, count * kProgramHeaderBytes))
    return damaged(
        base + table,
        "the cubin's %llu program headers at byte %llu end past its %zu bytes: the image "
        "is truncated or damaged",
        llu(count), llu(table), elf.size());
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t header = table + i * kProgramHeaderBytes;
    if (!elf.holds(elf.at<uint64_t>(header + 8), elf.at<uint64_t>(header + 32)))
      return damaged(base + header, "segment %llu of the cubin ends past its %zu bytes", llu(i),
                     elf.size());
  }
  return Code::OK;
}

/// `base` is the offset of the ELF file in the image, for messages.
Status check_elf(const Bytes& elf, uint64_t base, ImageSummary* summary) {
  if (!elf.holds(0, kElfHeaderBytes))
    return damaged(base, "a cubin of %zu bytes is shorter than its header of %llu", elf.size(),
                   llu(kElfHeaderBytes));
  if (std::memcmp(elf.data(), "\177ELF", 4) != 0)
    return damaged(base, "the cubin at byte %llu does not begin as an ELF file", llu(base));
  if (elf.at<uint8_t>(4) != 2 || elf.at<uint8_t>(5) != 1)
    return damaged(base + 4, "the cubin at byte %llu is not a 64-bit little-endian ELF file",
                   llu(base));
  if (elf.at<uint16_t>(18) != kMachineCuda)
    return damaged(base + 18,
                   "the ELF file is for machine %u, but GPU code has machine %u: was a host object "
                   "or a program passed?",
                   elf.at<uint16_t>(18), kMachineCuda);
  TW_TRY(check_sections(elf, base));
  TW_TRY(check_segments(elf, base));
  if (summary) add_contents(summary, "sm_%u code", elf_sm(elf));
  return Code::OK;
}

// --- fatbin ---

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kWrapperMagic = 0x466243b1;  // __fatBinC_Wrapper_t, which points to a fatbin
constexpr uint64_t kFatbinHeaderBytes = 16;
constexpr uint64_t kEntryHeaderBytes = 64;
constexpr uint16_t kEntryPtx = 1;
constexpr uint16_t kEntryElf = 2;

Status check_entry(const Bytes& entry, uint64_t offset, uint64_t header_bytes,
                   uint64_t payload_bytes, ImageSummary* summary) {
  const uint16_t kind = entry.at<uint16_t>(0);
  const uint32_t compressed_bytes = entry.at<uint32_t>(16);
  const uint32_t sm = entry.at<uint32_t>(28);
  if (compressed_bytes > payload_bytes)
    return damaged(
        offset + 16,
        "the fatbin entry at byte %llu claims %u compressed bytes, but its payload has only %llu",
        llu(offset), compressed_bytes, llu(payload_bytes));
  if (kind == kEntryPtx) {
    summary->has_ptx = true;
    add_contents(summary, "compute_%u PTX", sm);
  } else if (kind == kEntryElf) {
    add_contents(summary, "sm_%u code", sm);
    // A compressed entry is left to the driver, which verifies checksums when it unpacks it.
    if (compressed_bytes == 0)
      TW_TRY(check_elf(entry.part(header_bytes, payload_bytes), offset + header_bytes, nullptr));
  } else {
    add_contents(summary, "an entry of kind %u for sm_%u", kind, sm);
  }
  return Code::OK;
}

Status check_fatbin(const Bytes& image, ImageSummary* summary) {
  summary->kind = ImageKind::fatbin;
  if (!image.holds(0, kFatbinHeaderBytes))
    return damaged(0, "a fatbin of %zu bytes is shorter than its header of %llu", image.size(),
                   llu(kFatbinHeaderBytes));
  const uint64_t header_bytes = image.at<uint16_t>(6);
  const uint64_t body_bytes = image.at<uint64_t>(8);
  if (header_bytes < kFatbinHeaderBytes || !image.holds(header_bytes, body_bytes))
    return damaged(8,
                   "the fatbin's header declares %llu + %llu bytes, but the image has %zu: it is "
                   "truncated or damaged",
                   llu(header_bytes), llu(body_bytes), image.size());
  uint64_t offset = header_bytes;
  const uint64_t end = header_bytes + body_bytes;
  if (offset == end) return damaged(offset, "the fatbin is empty");
  while (offset < end) {
    if (end - offset < kEntryHeaderBytes)
      return damaged(offset,
                     "the header of the fatbin entry at byte %llu is cut off after %llu bytes",
                     llu(offset), llu(end - offset));
    const uint64_t entry_header = image.at<uint32_t>(offset + 4);
    const uint64_t payload = image.at<uint64_t>(offset + 8);
    const uint64_t available = end - offset;
    if (entry_header < kEntryHeaderBytes || entry_header > available ||
        payload > available - entry_header)
      return damaged(offset,
                     "the fatbin entry at byte %llu declares %llu + %llu bytes, but only %llu are "
                     "left: the image is truncated or damaged",
                     llu(offset), llu(entry_header), llu(payload), llu(available));
    TW_TRY(check_entry(image.part(offset, entry_header + payload), offset, entry_header, payload,
                       summary));
    offset += entry_header + payload;
  }
  return Code::OK;
}

// --- PTX ---

Status check_ptx(const Bytes& image, ImageSummary* summary) {
  summary->kind = ImageKind::ptx;
  summary->has_ptx = true;
  std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  if (text.back() == '\0') text.remove_suffix(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool blank = c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
    if ((c < 32 && !blank) || c == 127)
      return damaged(i, "the PTX text has the byte 0x%02x at %zu", c, i);
  }
  if (text.find(".version") == std::string_view::npos)
    return damaged(0, "the text has no .version directive, so it is not PTX");
  const size_t target = text.find(".target");
  if (target == std::string_view::npos)
    return damaged(0, "the PTX text has no .target directive: it is truncated");
  const size_t name = text.find_first_not_of(" \t\r\n", target + std::strlen(".target"));
  const size_t name_end =
      name == std::string_view::npos ? name : text.find_first_of(", \t\r\n", name);
  if (name_end == std::string_view::npos)
    return damaged(target, "the PTX text ends within its .target directive: it is truncated");
  add_contents(summary, "PTX for %.*s",
               static_cast<int>(name_end - name > 32 ? 32 : name_end - name), text.data() + name);
  return Code::OK;
}

bool looks_like_text(const Bytes& image) {
  const unsigned char first = image.at<uint8_t>(0);
  return first == '.' || first == '/' || first == ' ' || first == '\n' || first == '\t' ||
         first == '\r';
}

}  // namespace

Status check_image(const void* data, size_t size, ImageSummary* summary) {
  *summary = ImageSummary{};
  const Bytes image(data, size);
  if (size < 8)
    return damaged(
        0, "an image of %zu bytes is too short to be a fatbin, cubin or PTX: at least 8 bytes",
        size);
  const uint32_t magic = image.at<uint32_t>(0);
  if (magic == kFatbinMagic) return check_fatbin(image, summary);
  if (std::memcmp(data, "\177ELF", 4) == 0) {
    summary->kind = ImageKind::cubin;
    return check_elf(image, 0, summary);
  }
  if (magic == kWrapperMagic)
    return damaged(0,
                   "the image is the wrapper that nvcc puts around a fatbin in a program, which "
                   "holds a pointer: pass the fatbin that it points to");
  if (looks_like_text(image)) return check_ptx(image, summary);
  const unsigned char* b = image.data();
  return damaged(0,
                 "the image begins with %02x %02x %02x %02x: it is neither a fatbin (50 ed 55 ba) "
                 "nor a cubin (7f 45 4c 46) nor PTX text",
                 b[0], b[1], b[2], b[3]);
}

}  // namespace tw
