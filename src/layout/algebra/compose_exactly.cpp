// SPDX-License-Identifier: Apache-2.0
// Even if modes carry into each other, the composition is a layout if the carries cancel:
// (4,2,2):(1,2,6) o 4:3 takes the values 0, 3, 4, 7 and is (2,2):(3,4).
//
// The candidate is found by walking each mode of B: the first index at which the value is no longer
// index * first value is the extent of the first factor, and so on. The walk goes from carry to
// carry, so long modes are cheap. The candidate is then compared with the function at all points.
// With more than kMaxPoints points only samples are compared, and the composition fails as
// unsupported: no result is returned without a full check.
#include "layout/algebra/compose_exactly.hpp"

#include <cstdio>

#include "base/checked.hpp"

namespace tw {
namespace {

constexpr int64_t kMaxCarries = 1 << 16;  // examined along one mode
constexpr int64_t kMaxPoints = 1 << 18;   // compared in all

Status overflow() {
  return fail(Code::ERROR_OVERFLOW, {.argument = "b"},
              "an index of the composition exceeds 64 bits");
}

bool value_at(const Channels& channels, const int64_t* x, Stride* out) {
  *out = Stride();
  for (int c = 0; c < channels.count; ++c) {
    Stride value;
    if (!channels.channel[c].radix.value(x[c], &value) || !add_scaled(out, value, 1)) return false;
  }
  return true;
}

// A(start + x) - A(start), which the candidate must equal.
bool value_from_start(const Channels& channels, const int64_t* x, Stride* out) {
  int64_t moved[Channels::kMaxChannels], start[Channels::kMaxChannels];
  for (int c = 0; c < channels.count; ++c) {
    start[c] = channels.channel[c].start;
    if (!checked_add(start[c], x[c], &moved[c])) return false;
  }
  Stride base;
  return value_at(channels, moved, out) && value_at(channels, start, &base) &&
         add_scaled(out, base, -1);
}

// The next index after i at which start + i * step crosses a boundary; s if there is none.
int64_t next_carry(const Channels& channels, const int64_t* step, int64_t i, int64_t s) {
  int64_t next = s;
  for (int c = 0; c < channels.count; ++c) {
    const Radix& radix = channels.channel[c].radix;
    int64_t at[kMaxLeaves], by[kMaxLeaves];
    radix.remainders(channels.channel[c].start, at);
    radix.remainders(step[c], by);
    for (int k = 0; k + 1 < radix.count; ++k) {
      if (by[k] == 0) continue;
      const Wide passed = (at[k] + Wide{by[k]} * i) / radix.boundary[k];
      const Wide distance = (passed + 1) * radix.boundary[k] - at[k];
      const Wide index = (distance + by[k] - 1) / by[k];
      if (index < next) next = static_cast<int64_t>(index);
    }
  }
  return next;
}

struct Split {
  Factors<Stride> factors;
  int64_t step[Channels::kMaxChannels];  // of the current factor
};

// Splits one mode of B into factors. Fails with the reason if that is impossible.
Status factor(const Channels& channels, int leaf, int64_t s, Split* split) {
  split->factors.count = 0;
  const int64_t whole = s;
  while (true) {
    Stride first;
    if (s > 1 && !value_from_start(channels, split->step, &first)) return overflow();
    int64_t m = s;
    int64_t i = 1;
    for (int64_t looked = 0; (i = next_carry(channels, split->step, i, s)) < s; ++looked) {
      if (looked == kMaxCarries)
        return fail(Code::ERROR_UNSUPPORTED, {.argument = "b", .index = leaf, .limit = kMaxCarries},
                    "mode %d of b carries more than %lld times with carries that cancel: whether "
                    "the composition is a layout was not decided",
                    leaf, static_cast<long long>(kMaxCarries));
      int64_t x[Channels::kMaxChannels];
      for (int c = 0; c < channels.count; ++c) x[c] = split->step[c] * i;
      Stride value;
      if (!value_from_start(channels, x, &value) || !add_scaled(&value, first, -i))
        return overflow();
      if (value.count == 0) continue;
      m = i;
      break;
    }
    if (s % m != 0)
      return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b", .index = leaf, .got = s, .limit = m},
                  "mode %d of b (extent %lld) leaves a mode of a after %lld steps, and %lld is no "
                  "multiple of that: the composition is not a layout. An extent that divides or is "
                  "a multiple of %lld would work",
                  leaf, static_cast<long long>(whole), static_cast<long long>(m),
                  static_cast<long long>(s), static_cast<long long>(m));
    if (!split->factors.push(m, first))
      return fail(Code::ERROR_CAPACITY, {.argument = "b", .index = leaf, .limit = kMaxLeaves},
                  "mode %d of b takes more than %d modes", leaf, kMaxLeaves);
    if (m == s) return Code::OK;
    s /= m;
    for (int c = 0; c < channels.count; ++c) split->step[c] *= m;
  }
}

// All factors of all modes of B as one flat list.
struct Candidate {
  int count = 0;
  int64_t extent[kMaxLeaves];
  Stride stride[kMaxLeaves];
  int64_t step[kMaxLeaves][Channels::kMaxChannels];
};

Status differs(const Candidate& candidate, const int64_t* coord) {
  char text[200];
  int used = 0;
  for (int i = 0; i < candidate.count && used < 180; ++i)
    used += std::snprintf(text + used, sizeof text - static_cast<size_t>(used), "%s%lld",
                          i == 0 ? "" : ",", static_cast<long long>(coord[i]));
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b"},
              "modes of b carry into each other inside a: at coordinate (%s) of b's factors the "
              "composition is not the sum of what each factor gives, so it is not a layout",
              text);
}

Status compare(const Channels& channels, const Candidate& candidate, const int64_t* coord) {
  int64_t x[Channels::kMaxChannels] = {};
  Stride sum;
  for (int i = 0; i < candidate.count; ++i) {
    for (int c = 0; c < channels.count; ++c) x[c] += candidate.step[i][c] * coord[i];
    if (!add_scaled(&sum, candidate.stride[i], coord[i])) return overflow();
  }
  Stride value;
  if (!value_from_start(channels, x, &value)) return overflow();
  return equal(value, sum) ? Status() : differs(candidate, coord);
}

Status compare_everywhere(const Channels& channels, const Candidate& candidate) {
  int64_t coord[kMaxLeaves];
  Wide points = 1;
  for (int i = 0; i < candidate.count; ++i) {
    coord[i] = candidate.extent[i] - 1;
    points *= points <= kMaxPoints ? candidate.extent[i] : 1;
  }
  TW_TRY(compare(channels, candidate, coord));  // the last corner refutes most candidates
  const bool all = points <= kMaxPoints;
  for (int i = 0; i < candidate.count; ++i) coord[i] = 0;
  uint64_t random = 0x9e3779b97f4a7c15;
  for (int64_t tried = 0; tried < (all ? static_cast<int64_t>(points) : kMaxPoints / 16); ++tried) {
    TW_TRY(compare(channels, candidate, coord));
    for (int i = 0; i < candidate.count; ++i) {
      if (all) {
        if (++coord[i] < candidate.extent[i]) break;
        coord[i] = 0;
      } else {
        random = random * 6364136223846793005u + 1442695040888963407u;
        coord[i] =
            static_cast<int64_t>((random >> 11) % static_cast<uint64_t>(candidate.extent[i]));
      }
    }
  }
  if (all) return Code::OK;
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "b", .limit = kMaxPoints},
              "modes of b carry into each other inside a, and the carries seem to cancel; with "
              "more than %lld points this is not checked, so no layout is returned",
              static_cast<long long>(kMaxPoints));
}

// Whether B may go past A's end, where A continues in its last mode. As in CuTe, every mode of B
// must then divide evenly into A's other modes.
bool may_run_past_end(const Channels& channels, const Layout& b, Node in_b) {
  const Channel& only = channels.channel[0];
  if (channels.count != 1 || only.start != 0 || only.radix.layout->has_basis_strides ||
      b.has_basis_strides)
    return false;
  for (int i = in_b.begin; i < in_b.end; ++i)
    if (!only.radix.admits(b.shape.value[i], b.stride[i])) return false;
  return true;
}

}  // namespace

Status compose_exactly(const Channels& channels, const Layout& b, Node in_b, int level,
                       int common_level, LayoutBuilder* builder) {
  if (!stays_inside(channels, b, in_b) && !may_run_past_end(channels, b, in_b))
    return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b"},
                "b reaches beyond a's end, which is not defined if b steps in several modes of a "
                "at once or if its modes carry into each other");
  Candidate candidate;
  const int shift = level - in_b.level;
  for (int i = in_b.begin; i < in_b.end; ++i) {
    Split split;
    int64_t first[Channels::kMaxChannels];
    for (int c = 0; c < channels.count; ++c)
      first[c] = split.step[c] = step_of(b, i, channels.channel[c]);
    TW_TRY(factor(channels, i - in_b.begin, b.shape.value[i], &split));
    int64_t weight = 1;
    for (int f = 0; f < split.factors.count; ++f) {
      if (candidate.count == kMaxLeaves)
        return fail(Code::ERROR_CAPACITY, {.argument = "b", .limit = kMaxLeaves},
                    "the composition needs more than %d leaves", kMaxLeaves);
      candidate.extent[candidate.count] = split.factors.extent[f];
      candidate.stride[candidate.count] = split.factors.stride[f];
      for (int c = 0; c < channels.count; ++c)
        candidate.step[candidate.count][c] = first[c] * weight;
      weight *= split.factors.extent[f];
      ++candidate.count;
    }
    split.factors.put(b.shape.depth[i] + shift,
                      i == in_b.begin ? common_level : b.shape.common_depth[i - 1] + shift,
                      builder);
  }
  return compare_everywhere(channels, candidate);
}

}  // namespace tw
