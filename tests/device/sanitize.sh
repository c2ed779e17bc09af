#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over the device tests, on a machine with a GPU:
#   [JOBS=8] [LIMIT=400] tests/device/sanitize.sh BUILD_DIR [OUTPUT_DIR]
# memcheck and synccheck on whole tests, racecheck on small shapes: it slows kernels a hundredfold.
# JOBS at once, LIMIT seconds each; one that is not done by then is named and counts as a failure.
# Exits with 1 if any tool found something in any test.
set -uo pipefail
tests=$(cd "$1/tests/device" && pwd)
mkdir -p "${2:-$tests/sanitize}"
out=$(cd "${2:-$tests/sanitize}" && pwd)
export tests out LIMIT=${LIMIT:-400} TW_TEST_DEVICE=cuda

# TOOL NAME [the test's arguments]; gemm's rows: each TW_EVERY-th choice.
check() {
  local tool=$1 name=$2
  shift 2
  local log="$out/${tool}_$name.txt" began=$SECONDS
  timeout -k 5 "$LIMIT" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 \
    "$tests/${name}_device_test" "$@" >"$log" 2>&1
  local status=$?
  printf '%-10s %-15s exit %3d %4d s  %s\n' "$tool" "$name" "$status" $((SECONDS - began)) \
    "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1)"
  [ "$status" -eq 0 ]
}
export -f check

# The longest first.
{
  echo "racecheck copy_turn"
  echo "racecheck gemm_stress -tc='*small products*'"
  for name in rows elementwise gemm_epilogue copy ragged gemm gemm_batch gemm_chain copies rows_sums rows_order \
    rows_values rows_capture copy_window prefetch; do
    echo "memcheck $name"
    echo "synccheck $name"
  done
  for tool in memcheck synccheck; do echo "$tool gemm_rows"; done
  echo "racecheck copy -tc='*widths around*,*odd extents*'"
  echo "racecheck rows"
  echo "racecheck ragged -tc='*lengths of nothing*'"
} | TW_EVERY=${TW_EVERY:-40} xargs -d '\n' -P "${JOBS:-4}" -I{} bash -c 'check {} || exit 1' || exit 1
