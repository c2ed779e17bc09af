// SPDX-License-Identifier: Apache-2.0
#pragma once
// An allocator that can be made to fail. It replaces the library's malloc and its relatives (by the
// linker's --wrap, see meson.build) and operator new.

#include <atomic>
#include <cstdint>

/// The n-th allocation from now on fails, on any thread; 0: none fails.
extern std::atomic<int64_t> g_fail_at;
/// Whether an allocation has failed since this was last set to false.
extern std::atomic<bool> g_failed;
/// If set, allocations on threads for which it returns true neither fail nor count.
extern bool (*g_exempt)();
/// Number of live allocations.
extern std::atomic<int64_t> g_live;
/// Number of allocations by this thread.
extern thread_local int64_t t_allocations;
