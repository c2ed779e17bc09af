#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that a change of kernels must pass beside the suite, on a machine with a GPU:
#   [PARTS='delays mutants racecheck'] [NVCC=nvcc] [JOBS=6] tests/device/prove.sh BUILD_DIR OUTPUT_DIR
#   repeat     a thousand runs of each method, each GEMM schedule and each option of epilogue kernels
#   delays     the same with kernels that wait for random times before and after every barrier
#   mutants    tests notice the removal of each mbarrier wait and each fence.proxy.async
#   racecheck  compute-sanitizer's, see sanitize.sh; memcheck and synccheck likewise
# All but memcheck and synccheck run by default. Images are compiled while tests run. Exits with 1 if a part fails.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=$(cd "$1/tests/device" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
parts=" ${PARTS:-repeat delays mutants racecheck} "
nvcc=${NVCC:-nvcc} jobs=${JOBS:-6}
export TW_TEST_DEVICE=cuda
mutants=(python3 "$here/kernel_mutants.py")
failed=0

wants() { [[ $parts == *" $1 "* ]]; }
# part NAME COMMAND...: writes the output to NAME.txt; prints its last line and the time.
part() {
  local name=$1 began=$SECONDS status
  shift
  "$@" >"$out/$name.txt" 2>&1
  status=$?
  printf '%-16s exit %3d %4d s  %s\n' "$name" "$status" $((SECONDS - began)) \
    "$(grep -v '^$' "$out/$name.txt" | tail -1)"
  return "$status"
}

images=()
if wants mutants; then
  nice "${mutants[@]}" build "$nvcc" "$out/mutants" --needed >"$out/mutants_build.txt" 2>&1 &
  images+=($!)
fi
if wants delays; then
  nice "${mutants[@]}" build "$nvcc" "$out/delays" --delays --unchanged >"$out/delays_build.txt" 2>&1 &
  images+=($!)
fi
if wants repeat; then
  running=()
  for name in gemm_full_stress gemm_scaled gemm_scaled_bits gemm_stress grouped_scaled repeat repeat_grouped repeat_moves \
    repeat_rows; do
    part "$name" "$tests/${name}_device_test" &
    running+=($!)
  done
  for process in "${running[@]}"; do wait "$process" || failed=1; done
fi
for process in "${images[@]}"; do wait "$process" || failed=1; done
if wants delays; then
  part delays "${mutants[@]}" run "$out/delays" "$tests" --jobs "$jobs" --seconds 120 || failed=1
fi
if wants mutants; then
  part mutants "${mutants[@]}" run "$out/mutants" "$tests" --jobs "$jobs" --seconds 30 || failed=1
fi
for tool in memcheck synccheck racecheck; do
  wants "$tool" || continue
  TOOLS=$tool JOBS=${JOBS:-16} "$here/sanitize.sh" "$1" "$out/$tool" || failed=1
done
exit "$failed"
