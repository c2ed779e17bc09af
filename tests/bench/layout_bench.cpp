// SPDX-License-Identifier: Apache-2.0
// Cost of layout algebra on one core: ns per operation, best of several rounds, and allocations.
// The printed references are CuTe with dynamic integers and cutegen (NVIDIA's run-time layout
// algebra), g++ 12 -O3 on a 2-core x86-64 machine.
// Exits with 1 if an operation allocates or misses its limit; with --report it only prints.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <tilewright/tilewright.h>
#include "layout/algebra/algebra.hpp"
#include "layout/text.hpp"

namespace {

long g_allocations = 0;

using namespace tw;

Layout layout_of(const char* text) {
  Layout layout;
  if (!parse(text, &layout).ok()) std::abort();
  return layout;
}

/// Keeps the compiler from optimizing the value away.
template <class T>
void keep(const T* value) {
  asm volatile("" : : "g"(value) : "memory");
}

struct Measure {
  double nanoseconds;
  long allocations;
};

template <class Body>
Measure measure(Body&& body) {
  constexpr int kCalls = 20000, kRounds = 15;
  double best = 1e9;
  const long before = g_allocations;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    if (time.count() / kCalls < best) best = time.count() / kCalls;
  }
  return {best, g_allocations - before};
}

bool g_good = true;

void report(const char* name, const Measure& m, double limit, bool may_allocate,
            const char* references) {
  const bool good = m.nanoseconds <= limit && (may_allocate || m.allocations == 0);
  std::printf("%-48s %8.1f ns  limit %5.0f  allocations %-8ld %s%s\n", name, m.nanoseconds, limit,
              m.allocations, references, good ? "" : "   MISSED");
  g_good = g_good && good;
}

}  // namespace

void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

int main(int argc, char** argv) {
  const bool only_report = argc > 1 && std::strcmp(argv[1], "--report") == 0;
  Layout out;
  const auto compose = [&](const char* name, const char* a, const char* b, const char* references) {
    const Layout x = layout_of(a), y = layout_of(b);
    report(name, measure([&] {
             if (!composition(x, y, &out).ok()) std::abort();
             keep(&out);
           }),
           150, false, references);
  };
  compose("composition (6,2):(8,2) o (4,3):(3,1)", "(6,2):(8,2)", "(4,3):(3,1)",
          "CuTe 8.6, cutegen 860");
  compose("composition rank 4 o rank 2", "(4,8,2,16):(256,8,4,16)", "(64,16):(1,64)",
          "CuTe 26, cutegen 980");
  compose("composition rank 4 o rank 4", "(4,8,2,16):(256,8,4,16)", "(4,8,2,16):(1,4,32,64)", "");

  const Layout matrix = layout_of("(4096,8192):(8192,1)");
  Tiler tiler;
  const int64_t tile[] = {128, 64};
  if (!make_tiler(2, tile, &tiler).ok()) return 1;
  report("zipped_divide (M,N) by (128,64)", measure([&] {
           if (!zipped_divide(matrix, tiler, &out).ok()) std::abort();
           keep(&out);
         }),
         200, false, "CuTe 2.9, cutegen 2950");

  tw_layout* handle = nullptr;
  if (tw_layout_parse("((2,3),4):((1,8),2)", &handle) != TW_OK) return 1;
  int64_t linear = 0, index = 0;
  report("tw_layout_crd2idx, linear, 3 leaves", measure([&] {
           linear = linear == 23 ? 0 : linear + 1;
           if (tw_layout_crd2idx(handle, &linear, 1, &index) != TW_OK) std::abort();
           keep(&index);
         }),
         20, false, "CuTe 3.1, cutegen 127");
  const int64_t flat[] = {1, 2, 3};
  report("tw_layout_crd2idx, flat, 3 leaves", measure([&] {
           if (tw_layout_crd2idx(handle, flat, 3, &index) != TW_OK) std::abort();
           keep(&index);
         }),
         20, false, "");

  // The C API returns a new handle, which is one allocation.
  tw_layout *a = nullptr, *b = nullptr, *answer = nullptr;
  if (tw_layout_parse("(6,2):(8,2)", &a) != TW_OK || tw_layout_parse("(4,3):(3,1)", &b) != TW_OK)
    return 1;
  report("tw_layout_composition and destroy", measure([&] {
           if (tw_layout_composition(a, b, &answer) != TW_OK) std::abort();
           tw_layout_destroy(answer);
         }),
         150, true, "");
  for (tw_layout* each : {handle, a, b}) tw_layout_destroy(each);
  return g_good || only_report ? 0 : 1;
}
