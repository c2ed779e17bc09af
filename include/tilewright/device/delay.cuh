// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_DELAY_CUH
#define TILEWRIGHT_DEVICE_DELAY_CUH
/// @file delay.cuh
/// A hook for builds that look for races.

#ifndef TILEWRIGHT_DELAY
/// Expanded before and after each operation on a barrier and each wait; by default it does nothing.
/// A build that looks for races defines it, before it includes the header, as a call that sometimes
/// delays the thread: a missing wait or fence then causes a wrong result.
#define TILEWRIGHT_DELAY() ((void)0)
#endif

#endif  // TILEWRIGHT_DEVICE_DELAY_CUH
