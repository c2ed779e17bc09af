// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/show/explain.hpp"

#include <cstdarg>
#include <cstdio>

#include "tensor_map/geometry.hpp"

namespace tw {
namespace {

using ull = unsigned long long;  // for printf

[[gnu::format(printf, 2, 3)]] void line(std::string* text, const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  *text += buffer;
  *text += '\n';
}

const char* kind_text(MapKind kind) {
  switch (kind) {
    case MapKind::tiled:
      return "tiled";
    case MapKind::im2col:
      return "im2col";
    case MapKind::im2col_wide:
      return "im2col wide";
  }
  return "?";
}

const char* swizzle_text(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return "none";
    case Swizzle::b32:
      return "32 bytes: address bit 4 is XORed with bit 7";
    case Swizzle::b64:
      return "64 bytes: address bits 4-5 are XORed with bits 7-8";
    case Swizzle::b128:
      return "128 bytes: address bits 4-6 are XORed with bits 7-9";
    case Swizzle::b128_atom_32b:
      return "128 bytes in atoms of 32";
    case Swizzle::b128_atom_32b_flip_8b:
      return "128 bytes in atoms of 32, halves flipped";
    case Swizzle::b128_atom_64b:
      return "128 bytes in atoms of 64";
  }
  return "?";
}

void dimensions(const TensorMapDesc& desc, std::string* text) {
  for (int32_t i = 0; i < desc.rank; ++i) {
    char step[48] = "contiguous";
    char box[64] = "";
    if (i > 0)
      std::snprintf(step, sizeof step, "stride %llu bytes",
                    static_cast<ull>(desc.global_stride_bytes[i - 1]));
    if (desc.kind == MapKind::tiled)
      std::snprintf(box, sizeof box, ", box %u", desc.box_dim[i]);
    else if (i > 0 && i + 1 < desc.rank && (i == 1 || desc.kind == MapKind::im2col))
      std::snprintf(box, sizeof box, ", corners %d and %d", desc.lower_corner[i - 1],
                    desc.upper_corner[i - 1]);
    const uint32_t every = desc.element_strides[i];
    line(text, "  dimension %d: %llu elements, %s%s%s%s", i, static_cast<ull>(desc.global_dim[i]),
         step, box, every == 1 ? "" : ", element stride ",
         every == 1 ? "" : std::to_string(every).c_str());
  }
}

void shared_memory(const TensorMapDesc& desc, std::string* text) {
  const uint64_t row = row_bytes(desc);
  const uint64_t pitch = row_pitch(desc);
  line(text, "  %s: %llu rows of %llu bytes, %llu bytes a transaction",
       desc.kind == MapKind::tiled ? "box" : "column", static_cast<ull>(box_rows(desc)),
       static_cast<ull>(row), static_cast<ull>(box_bytes(desc)));
  if (desc.swizzle == Swizzle::none)
    line(text, "  shared memory: %llu bytes, which must be aligned to 128 bytes",
         static_cast<ull>(box_span_bytes(desc)));
  else
    line(
        text,
        "  shared memory: %llu bytes, to be aligned to %u bytes so that the swizzle pattern begins "
        "there",
        static_cast<ull>(box_span_bytes(desc)), swizzle_period(desc.swizzle));
  if (pitch != row)
    line(text, "    rows are narrower than the swizzle's %llu bytes and lie that far apart",
         static_cast<ull>(pitch));
  line(text, "  swizzle: %s", swizzle_text(desc.swizzle));
}

void boxes(const TensorMapDesc& desc, std::string* text) {
  if (desc.kind != MapKind::tiled) return;
  // Element strides do not matter: a box covers box_dim elements even if it moves only every e-th.
  long double count = 1;  // five extents of 32 bits may exceed 64 bits
  for (int32_t i = 0; i < desc.rank; ++i)
    count *= static_cast<long double>((desc.global_dim[i] + desc.box_dim[i] - 1) / desc.box_dim[i]);
  line(text, "  boxes that cover the tensor: %.0Lf", count);
}

// The tensor's extent along dimension 0 in bytes.
uint64_t row_extent(const TensorMapDesc& desc) {
  return desc.global_dim[0] * global_bits(desc.dtype) / 8;
}

void stores(const TensorMapDesc& desc, std::string* text) {
  if (desc.kind != MapKind::tiled) {
    line(text, "  stores: none through an im2col map");
    return;
  }
  const uint32_t overhang = store_overhang(desc);
  if (overhang == 0) {
    line(text, "  stores: end with the tensor's last element");
    return;
  }
  const uint64_t extent = row_extent(desc);
  const char* bytes_past = "lie after the tensor";
  if (desc.rank > 1)
    bytes_past = desc.global_stride_bytes[0] < extent ? "belong to other rows"
                                                      : "must be padding, also after the last row";
  line(text,
       "  stores: write %u bytes past the end of each row of the tensor, because a row has %llu "
       "bytes, which is not a multiple of 16. The bytes past the end %s",
       overhang, static_cast<ull>(extent), bytes_past);
}

}  // namespace

uint32_t store_overhang(const TensorMapDesc& desc) {
  const uint64_t extent = row_extent(desc);
  return static_cast<uint32_t>((16 - extent % 16) % 16);
}

std::string explain(const TensorMapDesc& desc, int32_t arch) {
  std::string text;
  line(&text, "%s tensor map of %s at 0x%llx, %d dimension%s, innermost first",
       kind_text(desc.kind), dtype_name(desc.dtype), static_cast<ull>(desc.global_address),
       desc.rank, desc.rank == 1 ? "" : "s");
  dimensions(desc, &text);
  shared_memory(desc, &text);
  if (desc.interleave != Interleave::none)
    line(&text, "  interleave: %d bytes", desc.interleave == Interleave::b16 ? 16 : 32);
  line(&text, "  outside the tensor: loads give %s",
       desc.oob_fill == OobFill::nan ? "NaN (0x7ff7 in each 16 bits)" : "zeros");
  boxes(desc, &text);
  stores(desc, &text);
  if (arch != 90)
    line(
        &text,
        "  unverified: the rules, the encoding of the 128 bytes and the transfers were measured on "
        "compute capability 9.0. For %d.%d they come from manuals",
        arch / 10, arch % 10);
  return text;
}

}  // namespace tw
