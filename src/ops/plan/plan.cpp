// SPDX-License-Identifier: Apache-2.0
#include "ops/plan/plan.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "ops/common/copy_overlap.hpp"

namespace tw {

Status prepare_entry(Device& device, Family family, const KernelEntry* entry,
                     uint32_t dynamic_smem_bytes, PreparedKernel* out) {
  if (!entry) {
    const DeviceInfo& info = device.info();
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "desc"},
                "no %s kernel supports this description on %s (compute capability %d.%d)",
                family_name(family), info.name.c_str(), info.compute_major, info.compute_minor);
  }
  TW_TRY(device.prepare(*entry, dynamic_smem_bytes, &out->kernel));
  out->entry = entry;
  out->dynamic_smem_bytes = dynamic_smem_bytes;
  return {};
}

uint32_t usable_sms(const Device& device, uint32_t max_sms) {
  const auto sms = static_cast<uint32_t>(std::max(1, device.info().sm_count));
  return max_sms == 0 ? sms : std::min(sms, max_sms);
}

uint64_t max_blocks(const Device& device, uint32_t max_sms, uint32_t blocks_per_sm) {
  if (max_sms != 0) return usable_sms(device, max_sms);
  return blocks_per_sm == 0 ? uint64_t{INT32_MAX} : uint64_t{usable_sms(device, 0)} * blocks_per_sm;
}

Status check_alignment(const char* argument, uint32_t alignment, uint32_t element) {
  if (alignment == 0) return {};
  if ((alignment & (alignment - 1)) != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = argument, .rule = "alignment_power_of_two", .got = alignment},
                "%s is %" PRIu32 ": a promised alignment is a power of two, or 0 for none",
                argument, alignment);
  if (alignment < element)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = argument, .rule = "alignment_of_element", .got = alignment, .limit = element},
        "%s is %" PRIu32 ", less than the element's %" PRIu32 " bytes: promise at least that, or 0",
        argument, alignment, element);
  return {};
}

Status check_address(const char* argument, uint64_t address, uint32_t alignment,
                     uint32_t promised) {
  if (address == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = "address_not_null"},
                "%s is 0, but the operand is not empty", argument);
  // Both are powers of two, see check_alignment().
  const bool needed = alignment <= 1 || (address & (alignment - 1)) == 0;
  if (needed && (promised <= 1 || (address & (promised - 1)) == 0)) return {};
  const uint32_t wanted = needed ? promised : alignment;
  return fail(Code::ERROR_MISALIGNED,
              {.argument = argument,
               .rule = needed ? "promised_alignment" : "address_alignment",
               .got = static_cast<int64_t>(address % wanted),
               .limit = wanted},
              "%s is 0x%" PRIx64 ", %" PRIu64 " bytes past a multiple of %" PRIu32 ": %s", argument,
              address, address % wanted, wanted,
              needed ? "the plan was promised that alignment" : "it must be a multiple");
}

Status check_workspace(uint64_t address, uint64_t bytes, uint64_t needed, uint32_t alignment) {
  const auto limit = static_cast<int64_t>(needed);
  if (address == 0)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "workspace", .rule = "address_not_null", .limit = limit},
                "workspace is 0, but the plan needs %" PRIu64
                " bytes (see workspace_bytes of tw_plan_get_info)",
                needed);
  TW_TRY(check_address("workspace", address, alignment));
  if (bytes >= needed) return {};
  return fail(Code::ERROR_BUFFER_TOO_SMALL,
              {.argument = "workspace_bytes",
               .rule = "workspace_size",
               .got = static_cast<int64_t>(bytes),
               .limit = limit},
              "workspace_bytes is %" PRIu64 ": the plan needs %" PRIu64
              " (see workspace_bytes of tw_plan_get_info)",
              bytes, needed);
}

Status check_disjoint(const char* a_name, uint64_t a, uint64_t a_bytes, const char* b_name,
                      uint64_t b, uint64_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0) return {};
  if (a - b >= b_bytes && b - a >= a_bytes) return {};
  return fail(Code::ERROR_OVERLAP, {.argument = a_name, .rule = "operands_disjoint"},
              "%s [0x%" PRIx64 ", +%" PRIu64 ") and %s [0x%" PRIx64 ", +%" PRIu64 ") overlap",
              a_name, a, a_bytes, b_name, b, b_bytes);
}

namespace {

// Bytes from the first to the last byte of an operand.
uint64_t reach_of(const RunOperand& o) {
  if (o.rows == 0 || o.bytes == 0) return 0;
  return static_cast<uint64_t>((o.rows - 1) * o.pitch) + o.bytes;
}

// Two rows at addresses s and d share a byte if s - d is less than a row's length. Write s as a's
// address plus a multiple of its pitch, and d as the address of b's last row minus a multiple of
// its pitch. Then s - d is a sum of two non-negative terms and a constant.
Intersection rows_intersect(const RunOperand& a, const RunOperand& b) {
  StridedTerm terms[kMaxTerms];
  int32_t count = 0;
  for (const RunOperand* o : {&a, &b})
    if (o->rows > 1 && o->pitch > 0) terms[count++] = {o->pitch, o->rows};
  const int64_t constant = static_cast<int64_t>(a.address - b.address) - (b.rows - 1) * b.pitch;
  int64_t budget = kSearchBudget;
  return sums_intersect(terms, count, -constant - (static_cast<int64_t>(a.bytes) - 1),
                        -constant + (static_cast<int64_t>(b.bytes) - 1), &budget);
}

// "8 rows of 64 bytes, 128 apart, from 0x1000".
struct Rows {
  char text[128];
  explicit Rows(const RunOperand& o) {
    std::snprintf(text, sizeof text,
                  "%" PRId64 " rows of %" PRIu64 " bytes, %" PRId64 " apart, from 0x%" PRIx64,
                  o.rows, o.bytes, o.pitch, o.address);
  }
};

Status check_rows_apart(const RunOperand& one, const RunOperand& other) {
  const uint64_t one_reach = reach_of(one);
  const uint64_t other_reach = reach_of(other);
  if (one.rows <= 1 && other.rows <= 1)
    return check_disjoint(one.name, one.address, one_reach, other.name, other.address, other_reach);
  if (one_reach == 0 || other_reach == 0) return {};
  if (one.address - other.address >= other_reach && other.address - one.address >= one_reach)
    return {};
  const Intersection meets = rows_intersect(one, other);
  if (meets == Intersection::no) return {};
  const char* const written = one.written ? one.name : other.name;
  if (meets == Intersection::yes)
    return fail(Code::ERROR_OVERLAP, {.argument = one.name, .rule = "operands_disjoint"},
                "%s (%s) and %s (%s) share bytes: %s is written, so it must not overlap the other, "
                "but may lie between its rows",
                one.name, Rows(one).text, other.name, Rows(other).text, written);
  return fail(Code::ERROR_OVERLAP, {.argument = one.name, .rule = "operands_undecided"},
              "%s (%s) and %s (%s) interleave, and a bounded search could not prove that they "
              "share no bytes: %s is written; give both the same pitch, or separate memory",
              one.name, Rows(one).text, other.name, Rows(other).text, written);
}

}  // namespace

Status check_apart(std::initializer_list<RunOperand> operands) {
  for (const RunOperand* one = operands.begin(); one != operands.end(); ++one)
    for (const RunOperand* other = operands.begin(); other != one; ++other)
      if (one->written || other->written) TW_TRY(check_rows_apart(*one, *other));
  return {};
}

Status check_operands(const Device& device, std::initializer_list<RunOperand> operands) {
  TW_TRY(check_apart(operands));
  if (device.checks_memory())
    for (const RunOperand& one : operands)
      TW_TRY(device.check_memory(one.name, one.address, reach_of(one)));
  return {};
}

}  // namespace tw
