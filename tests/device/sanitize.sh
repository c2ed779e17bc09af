#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over the device tests, on a machine with a GPU:
#   tests/device/sanitize.sh BUILD_DIR [OUTPUT_DIR]
# memcheck and synccheck on whole tests, racecheck on small shapes: it slows kernels a hundredfold.
# Exits with the number of tools and tests that found something.
set -uo pipefail
tests=$(cd "$1/tests/device" && pwd)
out=${2:-$tests/sanitize}
mkdir -p "$out"
export TW_TEST_DEVICE=cuda
found=0

check() {
  local tool=$1 name=$2
  shift 2
  compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 "$@" >"$out/${tool}_$name.txt" 2>&1
  local status=$?
  printf '%-10s %-14s exit %3d  %s\n' "$tool" "$name" "$status" "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/${tool}_$name.txt" | tail -1)"
  if [ "$status" -ne 0 ]; then found=$((found + 1)); fi
}

for tool in memcheck synccheck; do
  for name in gemm gemm_rows copy copy_window copies elementwise prefetch ragged rows; do
    check "$tool" "$name" "$tests/${name}_device_test"
  done
done
check racecheck gemm_stress "$tests/gemm_stress_device_test" -tc='*small products*'
check racecheck copy "$tests/copy_device_test" -tc='*widths around*,*odd extents*'
check racecheck rows "$tests/rows_device_test"
check racecheck ragged "$tests/ragged_device_test" -tc='*lengths of nothing*'
exit "$found"
