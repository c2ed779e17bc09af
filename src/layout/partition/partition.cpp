// SPDX-License-Identifier: Apache-2.0
#include "layout/partition/partition.hpp"

#include "layout/algebra/compose.hpp"
#include "layout/algebra/divide.hpp"
#include "layout/algebra/slice.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/coordinate.hpp"

namespace tw {

Status partition_tv(const Layout& tensor, const IntTuple& tile, const Layout& tv, int64_t thread,
                    Layout* out, int64_t* offset) {
  *offset = 0;
  if (!tv.is_plain() || tv.rank() != 2)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = tv.rank(), .limit = 2},
                "a thread-value layout has two modes, (threads, values), and integer strides");
  const int64_t threads = size(tv, tv.mode(0));
  if (thread < 0 || thread >= threads)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "thread", .got = thread, .limit = threads - 1},
                "thread is %lld: there are threads 0 to %lld", static_cast<long long>(thread),
                static_cast<long long>(threads - 1));
  Tiler tiler;
  TW_TRY(make_tiler(tile.leaves, tile.value, &tiler));
  Layout divided, tiles, by_thread, mine;
  TW_TRY(zipped_divide(tensor, tiler, &divided));
  // Compose the tile with tv: the result is ((thread, value), rest).
  LayoutBuilder builder(&by_thread);
  TW_TRY(
      compose(divided, divided.mode(0), tv, tv.root(), /*level=*/1, /*common_level=*/1, &builder));
  builder.subtree(divided, divided.mode(1), /*level=*/1, /*common_level=*/1);
  builder.copy_frame(divided);
  TW_TRY(builder.finish());
  IntTuple coord;  // ((thread, _), _)
  coord.push(thread, /*level=*/2, /*common_level=*/1);
  coord.push(kFree, /*level=*/2, /*common_level=*/2);
  coord.push(kFree, /*level=*/1, /*common_level=*/1);
  TW_TRY(slice(by_thread, coord, &mine, offset));
  LayoutBuilder flat(out);
  flat.subtree(mine, mine.mode(0), 1, 1);
  for (Children c(mine.shape, mine.mode(1)); c; c.next()) flat.subtree(mine, *c, 1, 1);
  flat.copy_frame(mine);
  return flat.finish();
}

namespace {

constexpr int kBanks = 32;

Status check_access(int element_bits, int access_bytes) {
  if (access_bytes != 4 && access_bytes != 8 && access_bytes != 16)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "access_bytes", .got = access_bytes},
                "access_bytes is %d: a thread takes 4, 8 or 16 bytes at once", access_bytes);
  if (element_bits < 8 || element_bits % 8 != 0 || access_bytes * 8 % element_bits != 0)
    return fail(
        Code::ERROR_INVALID_ARGUMENT, {.argument = "element_bits", .got = element_bits},
        "element_bits is %d: it must be a multiple of 8 that divides the %d bits of an access",
        element_bits, access_bytes * 8);
  return Code::OK;
}

// The byte at which one thread's access begins. Fails unless its elements are contiguous.
Status access_byte(const Layout& layout, int element_bits, const Layout& tv, int64_t thread,
                   int64_t value, int64_t elements, int access_bytes, int64_t* byte) {
  int64_t first = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t pair[] = {thread, value + i};
    int64_t coord = 0, index = 0;
    TW_TRY(crd2idx(tv, pair, 2, &coord));
    TW_TRY(crd2idx(layout, &coord, 1, &index));
    if (i == 0) first = index;
    if (index != first + i)
      return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "access_bytes", .got = access_bytes},
                  "thread %lld: values %lld and %lld are not consecutive in memory, so "
                  "access_bytes %d is too wide",
                  static_cast<long long>(thread), static_cast<long long>(value),
                  static_cast<long long>(value + i), access_bytes);
  }
  *byte = first * (element_bits / 8);
  if (*byte >= 0 && *byte % access_bytes == 0) return Code::OK;
  return fail(
      Code::ERROR_MISALIGNED, {.argument = "access_bytes", .got = *byte, .limit = access_bytes},
      "the access of thread %lld begins at byte %lld: it must be a multiple of access_bytes, %d, "
      "and not negative",
      static_cast<long long>(thread), static_cast<long long>(*byte), access_bytes);
}

// Returns the number of passes for threads that are served together: the largest number of
// different words in a bank.
int64_t passes_of(const int64_t* byte, int threads, int words_each) {
  int64_t word[kBanks * 4];
  int count = 0, maximum = 0;
  int per_bank[kBanks] = {};
  for (int t = 0; t < threads; ++t)
    for (int w = 0; w < words_each; ++w) {
      const int64_t wanted = byte[t] / 4 + w;
      bool known = false;
      for (int i = 0; i < count && !known; ++i) known = word[i] == wanted;
      if (known) continue;
      word[count++] = wanted;
      const int load = ++per_bank[wanted % kBanks];
      maximum = load > maximum ? load : maximum;
    }
  return maximum;
}

}  // namespace

Status bank_passes(const Layout& layout, int element_bits, const Layout& tv, int access_bytes,
                   int64_t* passes, int64_t* least) {
  *passes = *least = 0;
  TW_TRY(check_access(element_bits, access_bytes));
  if (tv.rank() != 2 || tv.has_basis_strides)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = tv.rank(), .limit = 2},
                "a thread-value layout has two modes, (threads, values), and integer strides");
  const int64_t threads = size(tv, tv.mode(0)), values = size(tv, tv.mode(1));
  const int64_t elements = access_bytes * 8 / element_bits;
  if (threads > 32)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = threads, .limit = 32},
                "tv has %lld threads: a warp has 32", static_cast<long long>(threads));
  if (values % elements != 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "tv", .got = values, .limit = elements},
                "tv has %lld values a thread, no multiple of the %lld that one access takes",
                static_cast<long long>(values), static_cast<long long>(elements));
  const int group = 32 * 4 / access_bytes;  // threads served together
  int64_t total = 0, best = 0;
  for (int64_t value = 0; value < values; value += elements) {
    int64_t byte[32];
    for (int64_t t = 0; t < threads; ++t)
      TW_TRY(access_byte(layout, element_bits, tv, t, value, elements, access_bytes, &byte[t]));
    for (int t = 0; t < threads; t += group) {
      const int together =
          static_cast<int>(threads) - t < group ? static_cast<int>(threads) - t : group;
      total += passes_of(byte + t, together, access_bytes / 4);
      ++best;
    }
  }
  *passes = total;
  *least = best;
  return Code::OK;
}

}  // namespace tw
