// SPDX-License-Identifier: Apache-2.0
// Composition R = A o B, R(c) = A(B(c)).
//
// Let A be coalesced, with boundaries P_1, P_2, ... (radix.hpp). A(x + y) = A(x) + A(y) if adding x
// and y carries across no boundary. So each mode s:d of B is split into factors without carries. A
// mode first carries after the smallest ceil(P / (d mod P)) steps; that number must divide s and is
// the extent of the first factor. R is a layout if all factors at their largest do not carry
// together,
//   for each boundary P:  sum over factors of (extent - 1) * (stride mod P)  <  P.
// Its strides are then the values of A at the factors' strides. If the test fails, R can only be a
// layout if carries cancel; compose_exactly.cpp decides that.
//
// Past its end, A continues in its last mode, by CuTe's convention. A stride of B that steps in one
// mode of A may go past the end. A diagonal stride, which steps in several modes, must stay inside
// A.
#include "layout/algebra/compose.hpp"

#include <type_traits>

#include "base/checked.hpp"
#include "layout/algebra/compose_exactly.hpp"

namespace tw {
namespace {

bool follows(int64_t next, int64_t before, int64_t extent) {
  int64_t end = 0;
  return checked_mul(before, extent, &end) && end == next;
}

bool follows(const Stride& next, const Stride& before, int64_t extent) {
  Stride end;
  return add_scaled(&end, before, extent) && equal(end, next);
}

enum class Outcome { done, carries, overflows, full };

// The sum in the test above, for each boundary of each channel.
struct Reach {
  Wide sum[Channels::kMaxChannels][kMaxLeaves];

  explicit Reach(const Channels& channels) {
    for (int c = 0; c < channels.count; ++c) {
      const Channel& channel = channels.channel[c];
      if (channel.start == 0) {
        for (int k = 0; k + 1 < channel.radix.count; ++k) sum[c][k] = 0;
        continue;
      }
      int64_t remainder[kMaxLeaves];
      channel.radix.remainders(channel.start, remainder);
      for (int k = 0; k + 1 < channel.radix.count; ++k) sum[c][k] = remainder[k];
    }
  }
};

// Computes the remainders at x and adds the value there to the sum.
bool add_step(const Radix& radix, int64_t x, bool, int64_t* remainder, int64_t* sum) {
  return radix.value_and_remainders(x, remainder, sum);  // with integers there is only one channel
}

bool add_step(const Radix& radix, int64_t x, bool first, int64_t* remainder, Stride* sum) {
  radix.remainders(x, remainder);
  if (first) return radix.value(x, sum);
  Stride value;
  return radix.value(x, &value) && add_scaled(sum, value, 1);
}

// Splits one mode of B, with extent s and step[c] in channel c, into factors without carries.
template <class Value>
Outcome split(const Channels& channels, int64_t s, int64_t* step, Factors<Value>* out, Reach* reach,
              bool* diagonal) {
  out->count = 0;
  if (s == 1) {
    // The stride does not matter, but basis strides are kept so that the codomain keeps its rank.
    Value value{};
    int64_t unused[kMaxLeaves];
    if constexpr (std::is_same_v<Value, Stride>)
      for (int c = 0; c < channels.count; ++c)
        if (!add_step(channels.channel[c].radix, step[c], c == 0, unused, &value))
          return Outcome::overflows;
    out->push(1, value);
    return Outcome::done;
  }
  int64_t remainder[kMaxLeaves];
  while (true) {
    int64_t m = s;
    Value value{};
    for (int c = 0; c < channels.count; ++c) {
      const Radix& radix = channels.channel[c].radix;
      if (!add_step(radix, step[c], c == 0, remainder, &value)) return Outcome::overflows;
      for (int k = 0; k + 1 < radix.count; ++k) {
        const int64_t p = radix.boundary[k], r = remainder[k];
        *diagonal = *diagonal || (r != 0 && r != step[c]);
        if (r != 0 && Wide{r} * (m - 1) >= p) m = p / r + (p % r != 0);
      }
    }
    if (s % m != 0) return Outcome::carries;
    if (!out->push(m, value)) return Outcome::full;
    for (int c = 0; c < channels.count; ++c) {
      const Radix& radix = channels.channel[c].radix;
      if (channels.count > 1) radix.remainders(step[c], remainder);
      for (int k = 0; k + 1 < radix.count; ++k) {
        reach->sum[c][k] += Wide{remainder[k]} * (m - 1);
        if (reach->sum[c][k] >= radix.boundary[k]) return Outcome::carries;
      }
    }
    if (m == s) return Outcome::done;
    s /= m;
    for (int c = 0; c < channels.count; ++c) step[c] *= m;  // at most step * (s - 1)
  }
}

template <class Value>
Outcome compose_as(const Channels& channels, const Layout& b, Node in_b, int level,
                   int common_level, LayoutBuilder* builder) {
  Reach reach(channels);
  Factors<Value> factors;
  int64_t step[Channels::kMaxChannels];
  const int shift = level - in_b.level;
  bool diagonal = false;
  for (int i = in_b.begin; i < in_b.end; ++i) {
    for (int c = 0; c < channels.count; ++c) step[c] = step_of(b, i, channels.channel[c]);
    const Outcome outcome = split(channels, b.shape.value[i], step, &factors, &reach, &diagonal);
    if (outcome != Outcome::done) return outcome;
    factors.put(b.shape.depth[i] + shift,
                i == in_b.begin ? common_level : b.shape.common_depth[i - 1] + shift, builder);
  }
  return diagonal && !stays_inside(channels, b, in_b) ? Outcome::carries : Outcome::done;
}

}  // namespace

bool stays_inside(const Channels& channels, const Layout& b, Node in_b) {
  for (int c = 0; c < channels.count; ++c) {
    const Channel& channel = channels.channel[c];
    Wide low = channel.start, high = channel.start;
    for (int i = in_b.begin; i < in_b.end; ++i) {
      const int64_t step = step_of(b, i, channel);
      (step < 0 ? low : high) += Wide{step} * (b.shape.value[i] - 1);
    }
    if (low < 0 || high >= size(*channel.radix.layout, channel.radix.node)) return false;
  }
  return true;
}

template <class Value>
bool Factors<Value>::push(int64_t e, const Value& d) {
  if (count > 0 && follows(d, stride[count - 1], extent[count - 1])) {
    extent[count - 1] *= e;
    return true;
  }
  if (count == kMaxLeaves) return false;
  extent[count] = e;
  stride[count++] = d;
  return true;
}
template struct Factors<int64_t>;
template struct Factors<Stride>;

int64_t step_of(const Layout& b, int leaf, const Channel& channel) {
  if (!b.has_basis_strides) return b.stride[leaf];
  const Stride stride = b.stride_of(leaf);
  for (int t = 0; t < stride.count; ++t)
    if (stride.term[t].basis == channel.path) return stride.term[t].value;
  return 0;
}

Status compose(const Layout& a, Node in_a, const Layout& b, Node in_b, int level, int common_level,
               LayoutBuilder* builder) {
  Channels channels;
  channels.count = 1;
  channels.channel[0].radix.coalesce_from(a, in_a);
  channels.channel[0].path = 0;
  channels.channel[0].start = 0;
  return compose(channels, b, in_b, level, common_level, builder);
}

Status compose(const Channels& channels, const Layout& b, Node in_b, int level, int common_level,
               LayoutBuilder* builder) {
  const LayoutBuilder::Mark mark = builder->mark();
  const bool integers = channels.count == 1 && !channels.channel[0].radix.layout->has_basis_strides;
  const Outcome outcome = integers
                              ? compose_as<int64_t>(channels, b, in_b, level, common_level, builder)
                              : compose_as<Stride>(channels, b, in_b, level, common_level, builder);
  switch (outcome) {
    case Outcome::done:
      return Code::OK;
    case Outcome::carries:
      builder->back_to(mark);
      return compose_exactly(channels, b, in_b, level, common_level, builder);
    case Outcome::full:
      return fail(Code::ERROR_CAPACITY, {.argument = "b", .limit = kMaxLeaves},
                  "one mode of b takes more than %d modes of a", kMaxLeaves);
    case Outcome::overflows:
      break;
  }
  return fail(Code::ERROR_OVERFLOW, {.argument = "b"},
              "an index of the composition exceeds 64 bits");
}

}  // namespace tw
