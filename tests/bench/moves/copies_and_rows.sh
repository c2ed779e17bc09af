#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, runs the device tests of copies, rows and prefetches, their benchmarks, the
# sweeps that choose pipeline sizes and thresholds, and torch as a peer if it is installed.
#   tests/bench/moves/copies_and_rows.sh BUILD_DIR [OUTPUT_DIR]
# BUILD_DIR is configured with -Dbench=true. Each step's output is a file of OUTPUT_DIR. A step that
# fails or finds no GPU (77) does not stop the others, but the exit status is then 1.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 1
out=${2:-$build/copies_and_rows}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$out"
export TW_TEST_DEVICE=cuda
failed=()

step() {
  local name=$1
  shift
  printf '== %s\n' "$name"
  "$@" >"$out/$name.txt" 2>&1
  local status=$?
  tail -n 60 "$out/$name.txt"
  if [ "$status" -ne 0 ]; then
    printf '%s: exit status %d\n' "$name" "$status"
    failed+=("$name")
  fi
}

for test in copy copy_turn copy_window copies quantize ragged route elementwise elementwise_activations rows rows_order rows_sums prefetch; do
  step "test_$test" "$build/tests/device/${test}_device_test"
  if command -v compute-sanitizer >/dev/null; then
    step "memcheck_$test" compute-sanitizer --error-exitcode 1 "$build/tests/device/${test}_device_test"
  fi
done
step copy "$build/tests/bench/bench_copy"
if python3 -c 'import torch, triton' 2>/dev/null; then
  step torch python3 "$here/peers_rows_copies.py"
fi
step rows "$build/tests/bench/bench_rows" --peers="$out/torch.txt"
if python3 -c 'import torch' 2>/dev/null; then
  step torch_elementwise python3 "$here/peers_elementwise.py"
fi
step moves "$build/tests/bench/bench_moves" --peers="$out/torch.txt"
step elementwise "$build/tests/bench/bench_elementwise" --peers="$out/torch_elementwise.txt"
step quantize "$build/tests/bench/bench_quantize"
step rows_sweep "$build/tests/bench/bench_rows" --sweep --repeats=7

# Bits of the copies' methods: 2 boxes, 4 rows, 8 strided, 16 permute, 32 shift, 64 pieces,
# 128 transpose, 256 interleave, 512 the driver's.
for methods in 2 4 8 32 64; do
  step "pitched_by_$methods" "$build/tests/bench/bench_copy" --filter=pitched --methods="$methods" --repeats=12
done
for methods in 4 32 64 512; do
  step "contiguous_by_$methods" "$build/tests/bench/bench_copy" --filter=contiguous --methods="$methods" --repeats=12
done
for ring in 4:4096 8:4096 12:4096 6:8192 4:12288; do
  size=(--stages="${ring%:*}" --stage_bytes="${ring#*:}" --repeats=12)
  step "copy_ring_$ring" "$build/tests/bench/bench_copy" --filter=pitched "${size[@]}"
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[*]}"
  exit 1
fi
