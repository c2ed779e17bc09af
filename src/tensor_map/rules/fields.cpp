// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/rules/fields.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tw {
namespace {

// Appends to a buffer and truncates at its end.
class Writer {
 public:
  Writer(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {
    if (capacity > 0) buffer[0] = '\0';
  }
  [[gnu::format(printf, 2, 3)]] void put(const char* format, ...) {
    if (used_ + 1 >= capacity_) return;
    va_list args;
    va_start(args, format);
    const int written = std::vsnprintf(buffer_ + used_, capacity_ - used_, format, args);
    va_end(args);
    used_ = std::min(used_ + static_cast<size_t>(std::max(written, 0)), capacity_ - 1);
  }
  size_t used() const { return used_; }
  size_t room() const { return capacity_ > used_ ? capacity_ - used_ : 0; }
  void back_to(size_t used) {
    used_ = used;
    if (used_ < capacity_) buffer_[used_] = '\0';
  }

 private:
  char* buffer_;
  size_t capacity_;
  size_t used_ = 0;
};

void put_value(Writer* text, const char* name, uint64_t value) {
  const bool address = std::strcmp(name, "global_address") == 0;
  text->put(address ? "0x%llx" : "%llu", static_cast<unsigned long long>(value));
}
void put_value(Writer* text, const char*, int32_t value) {
  text->put("%d", value);
}

template <class T>
void put_scalar(Writer* text, const char* name, T value) {
  if constexpr (std::is_enum_v<T>)
    put_value(text, name, static_cast<int32_t>(value));
  else if constexpr (std::is_signed_v<T>)
    put_value(text, name, static_cast<int32_t>(value));
  else
    put_value(text, name, static_cast<uint64_t>(value));
}

template <class T>
void put_array(Writer* text, const char* name, const T* values, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    text->put(i == 0 ? "{" : ", ");
    put_scalar(text, name, values[i]);
  }
  text->put("}");
}

// The number of corners. An im2col-wide map has only one, for W.
int32_t corners_of(MapKind kind, int32_t rank) {
  return kind == MapKind::im2col_wide ? std::min(rank - 2, 1) : rank - 2;
}

}  // namespace

FieldMask named_fields(const Violations& violations) {
  static constexpr const char* kNames[] = {
#define TW_SCALAR(name) #name,
#define TW_ARRAY(name, entries) #name,
#include "tensor_map/rules/fields.inc"
#undef TW_SCALAR
#undef TW_ARRAY
  };
  FieldMask mask = 0;
  for (const Violation& violation : violations)
    for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i)
      if (std::strcmp(rule_row(violation.rule).argument, kNames[i]) == 0) mask |= 1u << i;
  return mask;
}

FieldMask changed_fields(const TensorMapDesc& a, const TensorMapDesc& b) {
  const int32_t rank = std::clamp(std::max(a.rank, b.rank), 0, 5);
  const int32_t corners = std::max(corners_of(a.kind, rank), corners_of(b.kind, rank));
  FieldMask mask = 0;
#define TW_SCALAR(name) \
  if (a.name != b.name) mask |= field::name;
#define TW_ARRAY(name, entries)           \
  for (int32_t i = 0; i < (entries); ++i) \
    if (a.name[i] != b.name[i]) mask |= field::name;
#include "tensor_map/rules/fields.inc"
#undef TW_SCALAR
#undef TW_ARRAY
  return mask;
}

void format_proposal(const TensorMapDesc& desc, const TensorMapDesc* proposed, char* buffer,
                     size_t capacity) {
  Writer text(buffer, capacity);
  if (proposed == nullptr) {
    text.put("No other values of the fields named by the broken rules would be accepted");
    return;
  }
  static constexpr char kEnd[] = " it would be accepted";
  static constexpr char kCutEnd[] = ", ... it would be accepted";
  const int32_t rank = proposed->rank;
  const int32_t corners = corners_of(proposed->kind, rank);
  FieldMask pending = changed_fields(desc, *proposed);
  bool first = true;
  size_t field_start = 0;  // where the text of the current field begins
  const auto begin = [&](const char* name, FieldMask field) {
    if ((pending & field) == 0) return false;
    pending &= ~field;
    field_start = text.used();
    text.put("%s%s ", first ? "With " : (pending == 0 ? " and " : ", "), name);
    first = false;
    return true;
  };
  bool cut = false;
  // Drops this field and all later ones if the end of the sentence would not fit behind this field.
  const auto drop_if_too_long = [&] {
    if (text.room() >= (pending == 0 ? sizeof kEnd : sizeof kCutEnd)) return;
    text.back_to(field_start);
    pending = 0;
    cut = true;
  };
#define TW_SCALAR(name)                       \
  if (begin(#name, field::name)) {            \
    put_scalar(&text, #name, proposed->name); \
    drop_if_too_long();                       \
  }
#define TW_ARRAY(name, entries)                       \
  if (begin(#name, field::name)) {                    \
    put_array(&text, #name, proposed->name, entries); \
    drop_if_too_long();                               \
  }
#include "tensor_map/rules/fields.inc"
#undef TW_SCALAR
#undef TW_ARRAY
  if (cut && field_start == 0)
    text.put("Other values of the fields named by the broken rules would be accepted");
  else
    text.put("%s", cut ? kCutEnd : kEnd);
}

}  // namespace tw
