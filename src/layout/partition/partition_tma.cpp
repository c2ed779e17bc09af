// SPDX-License-Identifier: Apache-2.0
// The TMA writes a box densely to shared memory, with its dimensions nested in some order. So the
// leaves of the shared memory layout are taken by ascending stride. A leaf belongs to the box if it
// begins where the previous ones end and continues the current dimension or starts a new one. The
// remaining leaves enumerate the boxes and give the position of each in the tensor and in shared
// memory.
#include "layout/partition/partition_tma.hpp"

#include "base/checked.hpp"

namespace tw {
namespace {

struct Leaf {
  int64_t extent;
  int64_t stride;  // in shared memory
  int mode;        // the mode of the tensor
  int64_t step;    // elements per step along that mode
};

struct Leaves {
  int count = 0;
  Leaf leaf[kMaxLeaves];

  void add(const Leaf& added) {
    int at = count++;
    for (; at > 0 && leaf[at - 1].stride > added.stride; --at) leaf[at] = leaf[at - 1];
    leaf[at] = added;
  }
};

Status check_operands(const Layout& tensor, const Layout& smem, const IntTuple& tile,
                      const IntTuple& coord) {
  const int rank = tensor.rank();
  if (rank > kMaxBoxRank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "tensor", .got = rank, .limit = kMaxBoxRank},
                "tensor has %d modes: the TMA knows at most %d dimensions", rank, kMaxBoxRank);
  if (tile.leaves != rank || coord.leaves != rank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = tile.leaves != rank ? "tile" : "coord",
                 .got = tile.leaves != rank ? tile.leaves : coord.leaves,
                 .limit = rank},
                "%s has %d numbers: it must have one for each of the tensor's %d modes",
                tile.leaves != rank ? "tile" : "coord",
                tile.leaves != rank ? tile.leaves : coord.leaves, rank);
  if (smem.has_basis_strides || smem.rank() < rank)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "smem", .got = smem.rank(), .limit = rank},
                "smem must return integers and have at least %d modes, as the tensor has", rank);
  for (int k = 0; k < rank; ++k) {
    if (tensor.mode(k).leaves() != 1)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tensor", .index = k},
                  "mode %d of tensor is a tuple: one mode is one dimension of the TMA", k);
    const int64_t have = size(smem, smem.mode(k)), extent = size(tensor, tensor.mode(k));
    if (tile.value[k] < 1 || have != tile.value[k])
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "smem", .index = k, .got = have, .limit = tile.value[k]},
                  "mode %d of smem has %lld coordinates and the tile %lld", k,
                  static_cast<long long>(have), static_cast<long long>(tile.value[k]));
    const int64_t tiles = extent / have + (extent % have != 0);
    if (coord.value[k] < 0 || coord.value[k] >= tiles)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "coord", .index = k, .got = coord.value[k], .limit = tiles - 1},
                  "coord[%d] is %lld: there are tiles 0 to %lld", k,
                  static_cast<long long>(coord.value[k]), static_cast<long long>(tiles - 1));
  }
  return Code::OK;
}

Status read_leaves(const Layout& smem, int rank, Leaves* out) {
  for (int k = 0; k < rank; ++k) {
    const Node node = smem.mode(k);
    int64_t step = 1;
    for (int i = node.begin; i < node.end; ++i) {
      const int64_t e = smem.shape.value[i], d = smem.stride[i];
      if (e > 1 && d <= 0)
        return fail(
            Code::ERROR_NOT_A_LAYOUT, {.argument = "smem", .index = i, .got = d},
            "the stride of leaf %d of smem is %lld: it must be positive, because the TMA writes "
            "every element once, at ascending addresses",
            i, static_cast<long long>(d));
      if (e > 1) out->add({e, d, k, step});
      step *= e;
    }
  }
  return Code::OK;
}

// The largest divisor of an extent that is at most `limit`.
int64_t largest_divisor(int64_t extent, int64_t limit) {
  int64_t part = extent < limit ? extent : limit;
  while (extent % part != 0) --part;
  return part;
}

// Moves leaves, or parts of them, into the box while they continue it. The others stay in `leaves`.
// Returns the number of elements in the box.
int64_t take_box(Leaves* leaves, int64_t inner_limit, BoxPlan* plan) {
  for (int k = 0; k < plan->rank; ++k) plan->box[k] = 1;
  int64_t elements = 1;
  int used = 0;  // dimensions in the box so far; order[used - 1] is the slowest
  Leaves rest;
  for (int i = 0; i < leaves->count; ++i) {
    Leaf leaf = leaves->leaf[i];
    const bool current = used > 0 && plan->order[used - 1] == leaf.mode;
    const bool fresh = plan->box[leaf.mode] == 1 && leaf.step == 1;
    const bool follows = leaf.stride == elements && leaf.step == plan->box[leaf.mode];
    const bool inner = used == 0 || (used == 1 && current);
    int64_t part = 1;
    if (follows && (current || fresh)) {
      const int64_t maximum = inner ? inner_limit : kMaxBoxExtent;
      part = largest_divisor(
          leaf.extent, maximum / plan->box[leaf.mode] > 0 ? maximum / plan->box[leaf.mode] : 1);
    }
    if (part > 1) {
      if (!current) plan->order[used++] = leaf.mode;
      plan->box[leaf.mode] *= part;
      elements *= part;
      leaf = {leaf.extent / part, leaf.stride * part, leaf.mode, leaf.step * part};
    }
    if (leaf.extent > 1) rest.add(leaf);
  }
  for (int k = 0; k < plan->rank; ++k) {
    bool listed = false;
    for (int u = 0; u < used; ++u) listed = listed || plan->order[u] == k;
    if (!listed) plan->order[used++] = k;
  }
  *leaves = rest;
  return elements;
}

Status check_contiguous(const Layout& tensor, const BoxPlan& plan) {
  const int inner = plan.order[0];
  if (plan.box[inner] == 1) return Code::OK;
  const Node node = tensor.mode(inner);
  const bool unit = tensor.stride[node.begin] == 1 &&
                    (!tensor.has_basis_strides || tensor.basis[node.begin] == basis_inner(0, 0, 0));
  if (unit) return Code::OK;
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "smem", .got = inner},
              "shared memory runs fastest along mode %d, whose elements are not contiguous in the "
              "tensor (stride 1, or 1@0): the TMA cannot transpose",
              inner);
}

// Splits the box into equal parts, one per CTA, along its slowest dimensions. Moves `origin` to
// this CTA's part and sets `slot` to the part's first element in the box.
Status split_among_ctas(int64_t ctas, int64_t cta, int64_t elements, BoxPlan* plan, int64_t* origin,
                        int64_t* slot) {
  int64_t whole[kMaxBoxRank];
  for (int k = 0; k < plan->rank; ++k) whole[k] = plan->box[k];
  *slot = 0;
  if (ctas < 1 || cta < 0 || cta >= ctas)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "cta", .got = cta, .limit = ctas - 1},
                "cta is %lld and ctas %lld: cta must be 0 to ctas - 1", static_cast<long long>(cta),
                static_cast<long long>(ctas));
  int64_t remaining = ctas;
  for (int u = plan->rank - 1; u >= 0 && remaining > 1; --u) {
    int64_t& extent = plan->box[plan->order[u]];
    if (extent % remaining == 0) {
      extent /= remaining;
      remaining = 1;
    } else if (remaining % extent == 0) {
      remaining /= extent;
      extent = 1;
    } else {
      break;
    }
  }
  if (remaining > 1)
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "ctas", .got = ctas},
                "the box cannot be cut into %lld equal boxes for as many CTAs",
                static_cast<long long>(ctas));
  int64_t first = cta * (elements / ctas);
  *slot = first;
  for (int u = 0; u < plan->rank; ++u) {
    const int k = plan->order[u];
    origin[k] += first % whole[k];
    first /= whole[k];
  }
  return Code::OK;
}

// The basis stride of a step along a mode of the tensor. For integer strides, mode k becomes @k.
Stride step_along(const Layout& tensor, int mode, int64_t step) {
  Stride stride;
  const Stride own = tensor.has_basis_strides ? tensor.stride_of(tensor.mode(mode).begin)
                                              : Stride(1, basis_inner(0, 0, mode));
  return add_scaled(&stride, own, step) ? stride : Stride();
}

Status put_origin(const Layout& tensor, const int64_t* origin, int rank, LayoutBuilder* builder) {
  if (!tensor.has_basis_strides) {
    for (int k = 0; k < rank; ++k) builder->origin(origin[k], basis_inner(0, 0, k));
    return Code::OK;
  }
  Stride moved;
  for (int k = 0; k < rank; ++k)
    if (!add_scaled(&moved, step_along(tensor, k, origin[k]), 1))
      return fail(Code::ERROR_OVERFLOW, {.argument = "coord"}, "a coordinate exceeds 64 bits");
  return builder->copy_moved_frame(tensor, moved);
}

}  // namespace

Status partition_tma(const Layout& tensor, const Layout& smem, const IntTuple& tile,
                     const IntTuple& coord, int64_t ctas, int64_t cta, BoxPlan* out) {
  TW_TRY(check_operands(tensor, smem, tile, coord));
  out->rank = tensor.rank();
  Leaves leaves;
  TW_TRY(read_leaves(smem, out->rank, &leaves));
  // A row of the box must fit in the swizzle span of 2^(base + bits) elements.
  int64_t inner_limit = kMaxBoxExtent;
  if (!smem.swizzle.is_identity() && smem.swizzle.shift > 0)
    inner_limit = int64_t{1} << (smem.swizzle.base + smem.swizzle.bits);
  if (inner_limit > kMaxBoxExtent) inner_limit = kMaxBoxExtent;
  const int64_t elements = take_box(&leaves, inner_limit, out);
  TW_TRY(check_contiguous(tensor, *out));
  int64_t origin[kMaxBoxRank];
  for (int k = 0; k < out->rank; ++k) origin[k] = tile.value[k] * coord.value[k];
  int64_t slot = 0;
  TW_TRY(split_among_ctas(ctas, cta, elements, out, origin, &slot));
  LayoutBuilder coords(&out->coords), slots(&out->slots);
  const bool nested = leaves.count > 1;
  for (int i = 0; i < leaves.count; ++i) {
    const Leaf& leaf = leaves.leaf[i];
    // `slots` has one more tuple than `coords` around a leaf, because its first mode enumerates the
    // boxes. Its other modes are smem's modes beyond the tensor's rank.
    const int common_level = i == 0 ? 0 : 1;
    coords.leaf(leaf.extent, step_along(tensor, leaf.mode, leaf.step), nested ? 1 : 0,
                common_level);
    slots.leaf(leaf.extent, leaf.stride, nested ? 2 : 1, i == 0 ? 1 : 2);
  }
  if (leaves.count == 0) {
    coords.leaf(1, int64_t{0}, 0, 0);
    slots.leaf(1, int64_t{0}, 1, 1);
  }
  TW_TRY(put_origin(tensor, origin, out->rank, &coords));
  TW_TRY(coords.finish());
  for (int mode = out->rank; mode < smem.rank(); ++mode) slots.subtree(smem, smem.mode(mode), 1, 1);
  int64_t start = 0;
  if (!checked_add(smem.offset, slot, &start))
    return fail(Code::ERROR_OVERFLOW, {.argument = "smem"}, "a slot exceeds 64 bits");
  out->slots.offset = start;
  return slots.finish();
}

}  // namespace tw
