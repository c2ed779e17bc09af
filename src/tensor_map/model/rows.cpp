// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/model/rows.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tw::model {
namespace {

// Rounds to nearest even to 10 mantissa bits. Any NaN becomes 0x7fffe000.
uint32_t to_tf32(uint32_t bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffe000u;
  return (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
}

void round_chunk(uint8_t* chunk, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t value;
    std::memcpy(&value, chunk + i, 4);
    value = to_tf32(value);
    std::memcpy(chunk + i, &value, 4);
  }
}

}  // namespace

void set_fault(Outcome* outcome, const char* format, ...) {
  outcome->fault = true;
  va_list args;
  va_start(args, format);
  std::vsnprintf(outcome->reason, sizeof outcome->reason, format, args);
  va_end(args);
}

bool may_run(const TensorMapDesc& desc, MapKind kind, const int32_t* coord, uint32_t offset,
             Outcome* outcome) {
  const bool tiled = desc.kind == MapKind::tiled;
  if (tiled != (kind == MapKind::tiled)) {
    set_fault(outcome, "illegal instruction: %s operation on %s map",
              tiled ? "an im2col" : "a tiled", tiled ? "a tiled" : "an im2col");
  } else if (desc.interleave != Interleave::none || static_cast<int32_t>(desc.swizzle) > 3) {
    set_fault(outcome, "not modelled: interleave %d with swizzle %d",
              static_cast<int>(desc.interleave), static_cast<int>(desc.swizzle));
  } else if (const int64_t byte = int64_t{coord[0]} * dtype_bytes(desc.dtype);
             byte % kCoordinateBytes != 0) {
    set_fault(outcome,
              "illegal instruction: coordinate 0 is %d, at %lld bytes of a row: it must be a "
              "multiple of %u bytes (%u elements)",
              coord[0], static_cast<long long>(byte), kCoordinateBytes,
              kCoordinateBytes / static_cast<uint32_t>(dtype_bytes(desc.dtype)));
  } else if (offset % 128 != 0) {
    set_fault(outcome, "misaligned address: a box at shared address %u, not a multiple of 128",
              offset);
  }
  return !outcome->fault;
}

RowLoader::RowLoader(const TensorMapDesc& desc, int32_t coord0, uint8_t* shared)
    : shape_(desc, coord0),
      shared_(shared),
      round_tf32_(desc.dtype == DType::TF32 || desc.dtype == DType::TF32_FTZ),
      fill_(desc.oob_fill == OobFill::nan ? 0x7ff77ff7u : 0u) {}

void RowLoader::load(uint64_t address, bool inside, uint32_t at) const {
  // Bytes [begin, end) of the row are inside the tensor. The row begins at a multiple of 16 bytes
  // of the tensor's row (may_run() checks coordinate 0), so that `begin` is a multiple of 16, too.
  // Only `end` can lie inside a chunk.
  const int64_t bytes = shape_.bytes;
  const int64_t begin = inside ? std::clamp<int64_t>(-shape_.first, 0, bytes) : bytes;
  const int64_t end =
      inside ? std::clamp<int64_t>(shape_.extent - shape_.first, begin, bytes) : begin;
  const int64_t whole = begin + (end - begin) / kChunk * kChunk;
  const uint64_t src = address + static_cast<uint64_t>(shape_.first);

  for (int64_t i = 0; i < begin; i += kChunk) fill(at + static_cast<uint32_t>(i));
  for (int64_t i = begin; i < whole; i += kChunk) {
    uint8_t* dst = shared_ + swizzled(at + static_cast<uint32_t>(i), shape_.mask);
    std::memcpy(dst, pointer(src + static_cast<uint64_t>(i)), kChunk);
    if (round_tf32_) round_chunk(dst, kChunk);
  }
  for (int64_t i = whole; i < bytes; i += kChunk) {
    fill(at + static_cast<uint32_t>(i));
    if (i >= end) continue;
    uint8_t* dst = shared_ + swizzled(at + static_cast<uint32_t>(i), shape_.mask);
    const auto part = static_cast<uint32_t>(end - i);
    std::memcpy(dst, pointer(src + static_cast<uint64_t>(i)), part);
    if (round_tf32_) round_chunk(dst, part);
  }
}

void RowLoader::fill(uint32_t at) const {
  const uint32_t chunk[4] = {fill_, fill_, fill_, fill_};
  std::memcpy(shared_ + swizzled(at, shape_.mask), chunk, kChunk);
}

void set_box_outcome(const TensorMapDesc& desc, uint32_t offset, Outcome* outcome) {
  outcome->transaction_bytes = static_cast<uint32_t>(box_bytes(desc));
  outcome->shared_end = offset + static_cast<uint32_t>(box_span_bytes(desc));
}

bool may_store(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset, Outcome* outcome) {
  if (!may_run(desc, MapKind::tiled, coord, offset, outcome)) return false;
  for (int32_t i = 0; i < desc.rank; ++i)
    if (coord[i] < 0) {
      set_fault(outcome,
                "illegal instruction: coordinate %d of a store or reduction is %d: it must not be "
                "negative",
                i, coord[i]);
      return false;
    }
  return true;
}

}  // namespace tw::model
