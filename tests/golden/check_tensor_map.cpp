// SPDX-License-Identifier: Apache-2.0
// golden_check tensor_map: each line is one cuTensorMapEncode* call and the driver's answer.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lines.hpp"
#include "tensor_map/descriptor.hpp"
#include "tensor_map/rules/check.hpp"

namespace golden {
namespace {

template <class T, size_t N>
void numbers(const nlohmann::json& line, const char* key, T (&out)[N]) {
  size_t i = 0;
  for (const auto& value : line.at(key))
    if (i < N) out[i++] = value.get<T>();
}

bool same_bytes(const tw::TensorMapBytes& a, const tw::TensorMapBytes& b, std::string* why) {
  for (int i = 0; i < 16; ++i)
    if (a.words[i] != b.words[i]) {
      char text[120];
      std::snprintf(text, sizeof text, "word %d is %016llx, the driver's %016llx", i,
                    static_cast<unsigned long long>(a.words[i]),
                    static_cast<unsigned long long>(b.words[i]));
      *why = text;
      return false;
    }
  return true;
}

template <class T, size_t N>
bool same_array(const T (&a)[N], const T (&b)[N], int count) {
  for (int i = 0; i < count; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

// Whether decode() restored every field that the 128 bytes hold. Types that share a code, and the
// wide kind, decode to their representative; the wide mode is not in the bytes.
bool same_fields(const tw::TensorMapDesc& a, const tw::TensorMapDesc& b) {
  const bool tiled = a.kind == tw::MapKind::tiled;
  const int corners = a.kind == tw::MapKind::im2col_wide ? 1 : a.rank - 2;
  return tiled == (b.kind == tw::MapKind::tiled) && a.rank == b.rank &&
         dtype_tensor_map_type(a.dtype) == dtype_tensor_map_type(b.dtype) &&
         a.interleave == b.interleave && a.swizzle == b.swizzle &&
         a.l2_promotion == b.l2_promotion && a.oob_fill == b.oob_fill &&
         a.global_address == b.global_address && same_array(a.global_dim, b.global_dim, a.rank) &&
         same_array(a.global_stride_bytes, b.global_stride_bytes, a.rank - 1) &&
         same_array(a.element_strides, b.element_strides, a.rank) &&
         (tiled ? same_array(a.box_dim, b.box_dim, a.rank)
                : a.channels_per_pixel == b.channels_per_pixel &&
                      a.pixels_per_column == b.pixels_per_column &&
                      same_array(a.lower_corner, b.lower_corner, corners) &&
                      same_array(a.upper_corner, b.upper_corner, corners));
}

std::string check_accepted(const tw::TensorMapDesc& desc, const std::string& map) {
  if (map.size() != 256) return "map is not 256 hex digits";
  tw::TensorMapBytes theirs;
  for (size_t i = 0; i < 16; ++i) {
    char* end = nullptr;
    const std::string word = map.substr(i * 16, 16);
    theirs.words[i] = std::strtoull(word.c_str(), &end, 16);
    if (*end != '\0') return "map is not hexadecimal";
  }
  tw::TensorMapBytes ours;
  if (!tw::encode(desc, 90, &ours).ok())
    return std::string("accepted by the driver, refused by us: ") + tw::last_failure().message;
  std::string why;
  if (!same_bytes(ours, theirs, &why)) return why;

  tw::TensorMapDesc decoded;
  if (!tw::decode(theirs, &decoded).ok())
    return std::string("decode: ") + tw::last_failure().message;
  if (!same_fields(desc, decoded)) return "decode brings back other fields";
  tw::TensorMapBytes again;
  tw::encode_accepted(decoded, &again);
  if (!same_bytes(again, theirs, &why)) return "encoded again after decode: " + why;
  return {};
}

std::string check_rejected(const tw::TensorMapDesc& desc) {
  tw::Violations violations;
  tw::check_all(desc, 90, &violations);
  if (violations.count == 0) return "refused by the driver, accepted by us";
  const tw::Status status = tw::check(desc, 90);
  if (status.code() != tw::Code::ERROR_RULE || tw::last_failure().fault.rule == nullptr)
    return "refused without naming a rule";
  return {};
}

}  // namespace

tw::TensorMapDesc read_map(const nlohmann::json& line, const std::string& call) {
  tw::TensorMapDesc desc;
  desc.dtype = dtype_of_map_type(line.at("dtype").get<int32_t>());
  desc.rank = line.at("rank").get<int32_t>();
  desc.interleave = static_cast<tw::Interleave>(line.at("interleave").get<int32_t>());
  desc.swizzle = static_cast<tw::Swizzle>(line.at("swizzle").get<int32_t>());
  desc.l2_promotion = static_cast<tw::L2Promotion>(line.at("l2").get<int32_t>());
  desc.oob_fill = static_cast<tw::OobFill>(line.at("oob").get<int32_t>());
  numbers(line, "dims", desc.global_dim);
  numbers(line, "strides", desc.global_stride_bytes);
  numbers(line, line.contains("element_strides") ? "element_strides" : "estrides",
          desc.element_strides);
  if (call == "tiled") {
    numbers(line, "box", desc.box_dim);
    return desc;
  }
  desc.kind = call == "im2col" ? tw::MapKind::im2col : tw::MapKind::im2col_wide;
  const bool short_names = line.contains("channels");
  desc.channels_per_pixel =
      line.at(short_names ? "channels" : "channels_per_pixel").get<uint32_t>();
  desc.pixels_per_column = line.at(short_names ? "pixels" : "pixels_per_column").get<uint32_t>();
  numbers(line, "lower", desc.lower_corner);
  numbers(line, "upper", desc.upper_corner);
  if (call == "im2col_wide") desc.wide_mode = line.at("wide_mode").get<int32_t>();
  return desc;
}

tw::DType dtype_of_map_type(int32_t type) {
  static constexpr tw::DType kTypes[] = {
#define TW_DTYPE(name, value, bits, map_type, text) tw::DType::name,
#include "base/dtypes.inc"
#undef TW_DTYPE
  };
  for (const tw::DType dtype : kTypes)
    if (tw::dtype_tensor_map_type(dtype) == type) return dtype;
  return static_cast<tw::DType>(-1 - type);
}

std::string check_tensor_map_line(const nlohmann::json& line) {
  const auto call = line.at("call").get<std::string>();
  if (call != "tiled" && call != "im2col" && call != "im2col_wide") return "unknown call " + call;
  tw::TensorMapDesc desc = read_map(line, call);
  desc.global_address = line.at("address").get<uint64_t>();
  const auto result = line.at("result").get<int32_t>();
  if (result == 0) return check_accepted(desc, line.at("map").get<std::string>());
  if (result == 1) return check_rejected(desc);
  return "unknown result " + std::to_string(result);
}

}  // namespace golden
