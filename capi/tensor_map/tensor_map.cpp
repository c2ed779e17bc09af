// SPDX-License-Identifier: Apache-2.0
// C API: tensor maps.
#include <algorithm>
#include <cstring>
#include <new>

#include "capi/common/boundary.hpp"
#include "capi/tensor_map/tensor_map_desc.hpp"
#include "tensor_map/descriptor.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/rules/fields.hpp"
#include "tensor_map/rules/propose.hpp"
#include "tensor_map/show/draw.hpp"
#include "tensor_map/show/explain.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

constinit DestroyedHandles<tw_tensor_map> g_destroyed_maps;

Status check_arch(int32_t arch) {
  if (known_arch(arch)) return Code::OK;
  return fail(
      Code::ERROR_INVALID_ARGUMENT, {.argument = "arch", .got = arch},
      "arch %d is none of the TW_ARCH_ numbers: compute capability major * 10 + minor, from "
      "90",
      arch);
}

// Writes at most `capacity` violations; on failure it writes none.
Status write_violations(const TensorMapDesc& desc, int32_t arch, const Violations& broken,
                        tw_rule_violation* out, int32_t capacity) {
  const int32_t count = std::min(broken.count, capacity);
  TW_TRY(check_output_array(out, static_cast<size_t>(count), "violations"));
  TensorMapDesc proposed;
  const bool found = capacity > 0 && propose(desc, arch, broken, &proposed);
  // The caller's struct may be longer or shorter than ours.
  const size_t pitch = count > 0 ? out->struct_size : 0;
  auto* at = reinterpret_cast<unsigned char*>(out);
  for (int32_t i = 0; i < count; ++i, at += pitch) {
    auto* element = reinterpret_cast<tw_rule_violation*>(at);
    TW_TRY(clear_output_struct(element, "violations"));
    const Violation& violation = broken.items[i];
    const RuleRow& row = rule_row(violation.rule);
    tw_rule_violation value{.struct_size = 0,
                            .struct_mark = 0,
                            .index = violation.index,
                            .rule = row.id,
                            .argument = row.argument,
                            .got = violation.got,
                            .limit = violation.limit,
                            .message = {}};
    format_violation(violation, value.message, sizeof value.message);
    const size_t used = std::strlen(value.message);
    if (used + 2 < sizeof value.message) {
      std::memcpy(value.message + used, ". ", 3);
      format_proposal(desc, found ? &proposed : nullptr, value.message + used + 2,
                      sizeof value.message - used - 2);
    }
    write_struct(element, value);
  }
  return Code::OK;
}

}  // namespace

tw_status tw_tensor_map_desc_init(tw_tensor_map_desc* desc, size_t size) {
  return guard(
      [&]() -> Status { return init_struct(desc, size, "desc", to_public(TensorMapDesc{})); });
}

tw_status tw_tensor_map_check(const tw_tensor_map_desc* desc, tw_arch arch,
                              tw_rule_violation* violations, int32_t capacity, int32_t* count) {
  return guard([&]() -> Status {
    if (count) *count = 0;
    TensorMapDesc checked;
    TW_TRY(read_desc(desc, &checked));
    TW_TRY(check_arch(arch));
    if (capacity < 0)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "capacity", .got = capacity},
                  "capacity is %d: it counts the elements of violations", capacity);
    if (capacity > 0) TW_TRY(require(violations, "violations"));
    Violations broken;
    check_all(checked, arch, &broken);
    if (broken.count == 0) return Code::OK;
    TW_TRY(write_violations(checked, arch, broken, violations, capacity));
    if (count) *count = broken.count;
    return report(checked, arch, broken);
  });
}

tw_status tw_tensor_map_propose(const tw_tensor_map_desc* desc, tw_arch arch,
                                tw_tensor_map_desc* proposed) {
  return guard([&]() -> Status {
    TensorMapDesc asked;  // read first: the two may be the same struct
    TW_TRY(read_desc(desc, &asked));
    TW_TRY(clear_output_struct(proposed, "proposed"));
    TW_TRY(check_arch(arch));
    Violations broken;
    check_all(asked, arch, &broken);
    TensorMapDesc accepted = asked;
    if (broken.count != 0 && !propose(asked, arch, broken, &accepted)) {
      return fail(
          Code::ERROR_NOT_FOUND, {.argument = "desc"},
          "no valid description exists that differs only in the fields that the broken rules name");
    }
    write_struct(proposed, to_public(accepted));
    return Code::OK;
  });
}

tw_status tw_tensor_map_encode(const tw_tensor_map_desc* desc, tw_arch arch, void* bytes) {
  return guard([&]() -> Status {
    TW_TRY(require(bytes, "bytes"));
    TensorMapDesc checked;
    TW_TRY(read_desc(desc, &checked));
    TW_TRY(check_arch(arch));
    TensorMapBytes encoded;
    TW_TRY(encode(checked, arch, &encoded));
    std::memcpy(bytes, &encoded, sizeof encoded);
    return Code::OK;
  });
}

tw_status tw_tensor_map_decode(const void* bytes, tw_tensor_map_desc* desc) {
  return guard([&]() -> Status {
    TW_TRY(clear_output_struct(desc, "desc"));
    TW_TRY(require(bytes, "bytes"));
    TensorMapBytes copy;
    std::memcpy(&copy, bytes, sizeof copy);
    TensorMapDesc decoded;
    const Status status = decode(copy, &decoded);
    write_struct(desc, to_public(decoded));
    return status;
  });
}

tw_status tw_tensor_map_create(tw_device* device, const tw_tensor_map_desc* desc,
                               tw_tensor_map** map) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(map, "map"));
    TW_TRY(usable(device, "device"));
    auto value = std::make_unique<TensorMapValue>();
    value->owner = device->value;
    TW_TRY(read_desc(desc, &value->desc));
    TW_TRY(check(value->desc, arch_of(*device->value)));
    TW_TRY(device->value->encode(value->desc, &value->bytes));
    *map = new tw_tensor_map{std::move(value)};
    return Code::OK;
  });
}

void tw_tensor_map_destroy(tw_tensor_map* map) {
  g_destroyed_maps.destroy(map);
}

tw_status tw_tensor_map_bytes(const tw_tensor_map* map, void* bytes) {
  return guard(map, [&]() -> Status {
    TW_TRY(usable(map, "map"));
    TW_TRY(require(bytes, "bytes"));
    std::memcpy(bytes, &map->value->bytes, sizeof map->value->bytes);
    return Code::OK;
  });
}

tw_status tw_tensor_map_get_desc(const tw_tensor_map* map, tw_tensor_map_desc* desc) {
  return guard(map, [&]() -> Status {
    TW_TRY(clear_output_struct(desc, "desc"));
    TW_TRY(usable(map, "map"));
    write_struct(desc, to_public(map->value->desc));
    return Code::OK;
  });
}

tw_status tw_tensor_map_explain(const tw_tensor_map* map, char* buffer, size_t capacity,
                                size_t* length) {
  return guard(map, [&]() -> Status {
    if (length) *length = 0;
    TW_TRY(usable(map, "map"));
    return write_text(explain(map->value->desc, arch_of(map->device())), buffer, capacity, length);
  });
}

tw_status tw_tensor_map_draw(const tw_tensor_map* map, char* buffer, size_t capacity,
                             size_t* length) {
  return guard(map, [&]() -> Status {
    if (length) *length = 0;
    TW_TRY(usable(map, "map"));
    return write_text(draw(map->value->desc), buffer, capacity, length);
  });
}
