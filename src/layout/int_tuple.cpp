// SPDX-License-Identifier: Apache-2.0
#include "layout/int_tuple.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"

namespace tw {

IntTuple& IntTuple::operator=(const IntTuple& other) {
  const auto count = static_cast<size_t>(other.leaves);
  leaves = other.leaves;
  std::memmove(depth, other.depth, count);
  std::memmove(common_depth, other.common_depth, count);
  std::memmove(value, other.value, count * sizeof value[0]);
  return *this;
}

int IntTuple::rank(Node node) const {
  if (node.leaves() == 0) return 0;
  int count = 1;
  for (int i = node.begin; i + 1 < node.end; ++i) count += common_depth[i] == node.level + 1;
  return count;
}

int IntTuple::nesting(Node node) const {
  if (node.leaves() == 0) return 1;
  int deepest = 0;
  for (int i = node.begin; i < node.end; ++i) deepest = std::max(deepest, depth[i] - node.level);
  return deepest;
}

Node IntTuple::child(Node node, int index) const {
  Children c(*this, node);
  for (; index > 0; --index) c.next();
  return *c;
}

bool IntTuple::push(const IntTuple& other, Node node, int level, int common_level) {
  if (leaves + node.leaves() > kMaxLeaves) return false;
  if (node.leaves() == 0) return true;
  if (leaves > 0) common_depth[leaves - 1] = static_cast<uint8_t>(common_level);
  const int shift = level - node.level;
  for (int i = node.begin; i < node.end; ++i, ++leaves) {
    if (other.depth[i] + shift > kMaxDepth) return false;
    depth[leaves] = static_cast<uint8_t>(other.depth[i] + shift);
    common_depth[leaves] = static_cast<uint8_t>(other.common_depth[i] + shift);
    value[leaves] = other.value[i];
  }
  common_depth[leaves - 1] = 0;
  return true;
}

bool congruent(const IntTuple& a, const IntTuple& b) {
  return a.leaves == b.leaves && std::equal(a.depth, a.depth + a.leaves, b.depth) &&
         (a.leaves == 0 ||
          std::equal(a.common_depth, a.common_depth + a.leaves - 1, b.common_depth));
}

bool equal(const IntTuple& a, const IntTuple& b) {
  return congruent(a, b) && std::equal(a.value, a.value + a.leaves, b.value);
}

namespace {

bool weakly_congruent(const IntTuple& a, Node na, const IntTuple& b, Node nb) {
  if (a.is_leaf(na)) return true;
  if (b.is_leaf(nb) || a.rank(na) != b.rank(nb)) return false;
  Children cb(b, nb);
  for (Children ca(a, na); ca; ca.next(), cb.next())
    if (!weakly_congruent(a, *ca, b, *cb)) return false;
  return true;
}

bool compatible(const IntTuple& a, Node na, const IntTuple& b, Node nb) {
  if (a.is_leaf(na)) {
    int64_t size = 0;
    return product(b, nb, &size) && size == a.value[na.begin];
  }
  if (b.is_leaf(nb) || a.rank(na) != b.rank(nb)) return false;
  Children cb(b, nb);
  for (Children ca(a, na); ca; ca.next(), cb.next())
    if (!compatible(a, *ca, b, *cb)) return false;
  return true;
}

}  // namespace

bool weakly_congruent(const IntTuple& a, const IntTuple& b) {
  return weakly_congruent(a, a.root(), b, b.root());
}

bool compatible(const IntTuple& a, const IntTuple& b) {
  return compatible(a, a.root(), b, b.root());
}

Status elem_less(const IntTuple& a, const IntTuple& b, bool* less) {
  *less = false;
  if (!congruent(a, b))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "coord"},
                "the coordinate and the shape have different profiles: write the coordinate with "
                "the shape's parentheses");
  for (int i = 0; i < a.leaves; ++i)
    if (a.value[i] >= b.value[i]) return Code::OK;
  *less = true;
  return Code::OK;
}

bool product(const IntTuple& tuple, Node node, int64_t* out) {
  int64_t result = 1;
  for (int i = node.begin; i < node.end; ++i)
    if (!checked_mul(result, tuple.value[i], &result)) return false;
  *out = result;
  return true;
}

Status product(const IntTuple& tuple, int64_t* out) {
  if (product(tuple, tuple.root(), out)) return Code::OK;
  *out = 0;
  return fail(Code::ERROR_OVERFLOW, {.argument = "tuple"}, "the product exceeds 64 bits");
}

Status check_rank(int rank) {
  if (rank >= 1 && rank <= kMaxLeaves) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "rank", .got = rank, .limit = kMaxLeaves},
              "rank is %d: there are 1 to %d modes", rank, kMaxLeaves);
}

Status make_tuple(int count, const int64_t* values, IntTuple* out) {
  out->leaves = 0;
  if (count < 1 || count > kMaxLeaves)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "count", .got = count, .limit = kMaxLeaves},
                "count is %d: a tuple has 1 to %d numbers", count, kMaxLeaves);
  for (int i = 0; i < count; ++i) out->push(values[i], 1, 1);
  return Code::OK;
}

Status prefix_product(const IntTuple& shape, IntTuple* out) {
  *out = shape;
  int64_t running = 1;
  for (int i = 0; i < shape.leaves; ++i) {
    out->value[i] = running;
    if (i + 1 < shape.leaves && !checked_mul(running, shape.value[i], &running))
      return fail(Code::ERROR_OVERFLOW, {.argument = "shape", .index = i},
                  "the product of the shape exceeds 64 bits at leaf %d", i);
  }
  return Code::OK;
}

Status inner_product(const IntTuple& a, const IntTuple& b, int64_t* out) {
  *out = 0;
  if (!congruent(a, b))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "b"},
                "an inner product needs two tuples of one profile");
  for (int i = 0; i < a.leaves; ++i) {
    int64_t term = 0;
    if (!checked_mul(a.value[i], b.value[i], &term) || !checked_add(*out, term, out)) {
      *out = 0;
      return fail(Code::ERROR_OVERFLOW, {.argument = "a", .index = i},
                  "the inner product exceeds 64 bits at leaf %d", i);
    }
  }
  return Code::OK;
}

namespace {

Status indivisible(int64_t a, int64_t b) {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.got = a, .limit = b},
              "%lld and %lld: neither divides the other, so their quotient is no shape",
              static_cast<long long>(a), static_cast<long long>(b));
}

// Divides the leaves of a node by `rest`, leftmost first. Each leaf divides `rest` by what it
// absorbs.
Status divide_leaves(IntTuple* a, Node node, int64_t rest) {
  for (int i = node.begin; i < node.end; ++i) {
    int64_t& extent = a->value[i];
    if (rest < 1) return indivisible(extent, rest);
    if (extent % rest == 0) {
      extent /= rest;
      rest = 1;
    } else if (rest % extent == 0) {
      rest /= extent;
      extent = 1;
    } else {
      return indivisible(extent, rest);
    }
  }
  return Code::OK;
}

Status shape_div(IntTuple* a, Node na, const IntTuple& b, Node nb) {
  if (b.is_leaf(nb)) return divide_leaves(a, na, b.value[nb.begin]);
  if (a->is_leaf(na)) {
    int64_t divisor = 0;
    if (!product(b, nb, &divisor))
      return fail(Code::ERROR_OVERFLOW, {.argument = "b"}, "the divisor exceeds 64 bits");
    return divide_leaves(a, na, divisor);
  }
  if (a->rank(na) != b.rank(nb))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "b", .got = b.rank(nb), .limit = a->rank(na)},
                "shapes of rank %d and %d cannot be divided mode by mode", a->rank(na), b.rank(nb));
  Children cb(b, nb);
  for (Children ca(*a, na); ca; ca.next(), cb.next()) TW_TRY(shape_div(a, *ca, b, *cb));
  return Code::OK;
}

}  // namespace

Status shape_div(const IntTuple& a, const IntTuple& b, IntTuple* out) {
  *out = a;
  return shape_div(out, out->root(), b, b.root());
}

namespace {

Status ceil_div(IntTuple* out, const IntTuple& a, Node na, const IntTuple& b, Node nb,
                int common_level) {
  const bool a_is_leaf = a.is_leaf(na);
  if (b.is_leaf(nb) || a_is_leaf) {
    // Divide the size of a's mode by the product of b's leaves, rounding up.
    int64_t extent = 0, divisor = 0;
    if (!product(a, na, &extent) || !product(b, nb, &divisor))
      return fail(Code::ERROR_OVERFLOW, {.argument = "a"}, "a size exceeds 64 bits");
    if (divisor < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "b", .got = divisor, .limit = 1},
                  "cannot divide by %lld", static_cast<long long>(divisor));
    const int64_t quotient = extent / divisor + (extent % divisor != 0);
    if (out->push(quotient, na.level, common_level)) return Code::OK;
    return fail(Code::ERROR_CAPACITY, {.argument = "a"}, "more than %d leaves", kMaxLeaves);
  }
  if (b.rank(nb) > a.rank(na))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "b", .got = b.rank(nb), .limit = a.rank(na)},
                "the divisor has rank %d, the shape only %d", b.rank(nb), a.rank(na));
  Children cb(b, nb);
  for (Children ca(a, na); ca; ca.next()) {
    if (cb) {
      TW_TRY(ceil_div(out, a, *ca, b, *cb, common_level));
      cb.next();
    } else if (!out->push(a, *ca, na.level + 1, common_level)) {
      return fail(Code::ERROR_CAPACITY, {.argument = "a"}, "more than %d leaves", kMaxLeaves);
    }
    common_level = na.level + 1;
  }
  return Code::OK;
}

}  // namespace

Status ceil_div(const IntTuple& a, const IntTuple& b, IntTuple* out) {
  out->leaves = 0;
  return ceil_div(out, a, a.root(), b, b.root(), 0);
}

}  // namespace tw
