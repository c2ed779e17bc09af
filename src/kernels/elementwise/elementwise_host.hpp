// SPDX-License-Identifier: Apache-2.0
#pragma once
// The elementwise family's host bodies, named as their rows.

namespace tw {

class HostEngine;

/// ElementwiseArgs: vector by vector as the kernels place them, element by element within.
void elementwise_vectors_host(HostEngine& engine, const void* arguments);
/// ElementwiseArgs: element by element.
void elementwise_strided_host(HostEngine& engine, const void* arguments);

}  // namespace tw
