// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handles of layouts, tuples, tilers and linear layouts, and helpers of the functions on them.
// They are immutable values that belong to no device, so any number of threads may use one.

#include <memory>

#include "base/status.hpp"
#include "capi/common/boundary.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"
#include "layout/linear/linear.hpp"
#include "tilewright.h"

struct tw_layout {
  static constexpr const char* kKind = "layout";
  std::unique_ptr<tw::Layout> value;
};
struct tw_tuple {
  static constexpr const char* kKind = "tuple";
  std::unique_ptr<tw::IntTuple> value;
};
struct tw_tiler {
  static constexpr const char* kKind = "tiler";
  std::unique_ptr<tw::Tiler> value;
};
struct tw_linear {
  static constexpr const char* kKind = "linear";
  std::unique_ptr<tw::LinearLayout> value;
};

namespace tw::capi {

/// A handle with a default value, which the caller then overwrites.
template <Handle T>
std::unique_ptr<T> new_handle() {
  auto handle = std::make_unique<T>();
  handle->value = std::make_unique<typename decltype(T::value)::element_type>();
  return handle;
}

/// Makes a handle whose value `fill(pointer)` writes. If that fails, *out is not changed.
template <Handle T, class Fill>
Status make_handle(T** out, Fill&& fill) {
  std::unique_ptr<T> handle = new_handle<T>();
  TW_TRY(fill(handle->value.get()));
  *out = handle.release();
  return Code::OK;
}

/// The body of a query that returns 1 or 0: `ask(bool*)`.
template <class Ask>
Status answer(int32_t* yes, Ask&& ask) {
  bool value = false;
  TW_TRY(ask(&value));
  *yes = value ? 1 : 0;
  return Code::OK;
}

/// The body of an operation with one operand: `verb(const Layout&, Layout*)`.
template <class Handle, class Out, class Verb>
tw_status unary(const Handle* operand, const char* name, Out** out, Verb&& verb) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(operand, name));
    return make_handle(out, [&](auto* value) { return verb(*operand->value, value); });
  });
}

/// The body of an operation with two operands.
template <class A, class B, class Out, class Verb>
tw_status binary(const A* a, const char* name_a, const B* b, const char* name_b, Out** out,
                 Verb&& verb) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(out, "out"));
    TW_TRY(require(a, name_a));
    TW_TRY(require(b, name_b));
    return make_handle(out, [&](auto* value) { return verb(*a->value, *b->value, value); });
  });
}

/// Copies numbers into the caller's array, which `argument` names. Returns ERROR_BUFFER_TOO_SMALL
/// if it is too short. `written`, if not NULL, receives their count in both cases.
Status write_numbers(const int64_t* numbers, int count, int64_t* out, const char* argument,
                     int32_t capacity, int32_t* written = nullptr);

}  // namespace tw::capi
