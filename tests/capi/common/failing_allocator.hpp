// SPDX-License-Identifier: Apache-2.0
#pragma once
// An allocator that can be told to fail, in the place of the library's malloc and its relatives (by
// the linker's --wrap, see meson.build) and of operator new.

#include <atomic>
#include <cstdint>

/// The n-th allocation from now on fails, of any thread; 0: none does.
extern std::atomic<int64_t> g_fail_at;
/// Whether one has failed since this was last set to false.
extern std::atomic<bool> g_failed;
/// Where not nullptr: allocations of a thread for which it says so do not fail and do not count.
extern bool (*g_exempt)();
/// Allocations not yet freed.
extern std::atomic<int64_t> g_live;
/// Allocations of this thread.
extern thread_local int64_t t_allocations;
