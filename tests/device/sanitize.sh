#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs compute-sanitizer over the device tests, on a machine with a GPU:
#   [JOBS=8] [LIMIT=400] [TOOLS='memcheck racecheck'] tests/device/sanitize.sh BUILD_DIR [OUTPUT_DIR]
# GEMM has hundreds of kernels: memcheck and synccheck run every TW_EVERY-th choice, racecheck a
# small product of each schedule. Tests that repeat things a thousand times run them once.
# JOBS tests run at once. One that takes more than LIMIT seconds counts as a failure.
# Exits with 1 if a tool finds anything but the known hazards.
set -uo pipefail
tests=$(cd "$1/tests/device" && pwd)
mkdir -p "${2:-$tests/sanitize}"
out=$(cd "${2:-$tests/sanitize}" && pwd)
tools=${TOOLS:-memcheck synccheck racecheck}
# Known hazards, in racecheck's words. A block's prefetch loads overwrite each other: nobody reads the
# bytes, and separate destinations would need more shared memory than an SM has.
known='Error: Race reported between Write access at prefetch_(rows|boxes)_tma\+(0x[0-9a-f]+) and Write access at prefetch_\1_tma\+\2 '
# The producer overwrites a tile's number while, for racecheck, warps may still read it: racecheck
# only orders threads that arrive at the barrier, and one lane arrives for its warpgroup. It arrives
# after the end of the wgmma, which each warp issues after its read. If all threads arrive, racecheck
# reports nothing.
noted='Error: Race reported between Write access at (gemm_[a-z0-9_]+_128x128_1x[12]_(coop|ping|half))\+0x[0-9a-f]+ and Read access at \1\+0x[0-9a-f]+ '
export tests out known noted LIMIT=${LIMIT:-400} TW_TEST_DEVICE=cuda

# Counts the unknown hazards of a log.
unknown() {
  sed -n '/Race reported between/{N;s/\n=* */ /;p}' "$1" | grep -vcE -e "$known" -e "$noted"
}

# TOOL NAME [VARIABLE=VALUE...] [the test's arguments]
check() {
  local tool=$1 name=$2 more=() note=
  shift 2
  while [[ ${1-} == TW_*=* ]]; do
    export "${1?}"
    shift
  done
  [ "$tool" = racecheck ] && more=(--print-limit 100000)
  local log="$out/${tool}_$name${TW_SHARE:+_${TW_SHARE%/*}}.txt" began=$SECONDS
  timeout -k 5 "$LIMIT" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 \
    "${more[@]}" "$tests/${name}_device_test" "$@" >"$log" 2>&1
  local status=$?
  if [ "$tool" = racecheck ] && [ "$status" -eq 99 ] && grep -q 'SUCCESS!' "$log" &&
    [ "$(unknown "$log")" -eq 0 ]; then
    status=0 note=', only known hazards'
  fi
  printf '%-10s %-16s %-4s exit %3d %4d s  %s%s\n' "$tool" "$name" "${TW_SHARE-}" "$status" \
    $((SECONDS - began)) "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1)" "$note"
  [ "$status" -eq 0 ]
}
export -f check unknown

# The longest tests come first.
{
  for name in copy_turn rows; do echo "racecheck $name"; done
  for share in 0 1 2 3 4; do
    echo "racecheck gemm_stress TW_SHARE=$share/5 -tc='*small products*'"
    echo "racecheck gemm_full_stress TW_SHARE=$share/5 -tc='*small products*'"
  done
  # rows_order and repeat_rows cover the case with a thousand runs.
  echo "racecheck rows_sums -tce='*the last of equal indices*'"
  for name in repeat_moves repeat_rows; do echo "racecheck $name TW_RUNS=1"; done
  for tool in memcheck synccheck; do
    for name in rows elementwise elementwise_activations gemm_epilogue copy quantize ragged route grouped \
      grouped_wgmma grouped_tiles grouped_scaled gemm gemm_batch gemm_chain gemm_realign gemm_scaled \
      gemm_scaled_bits copies rows_sums rows_order rows_values rows_capture copy_window prefetch gemm_entries; do
      echo "$tool $name TW_EVERY=${TW_EVERY:-40} TW_RUNS=1"
    done
  done
  for name in grouped_wgmma grouped_tiles grouped_scaled; do echo "racecheck $name -tc='*a few small*'"; done
  echo "racecheck gemm_scaled -tc='*a few of each*'"
  echo "racecheck copy -tc='*widths around*,*odd extents*'"
  for name in elementwise quantize ragged route rows_order copy_window copies prefetch; do echo "racecheck $name"; done
} | grep -E "^(${tools// /|}) " |
  xargs -d '\n' -P "${JOBS:-4}" -I{} bash -c 'check {} || exit 1' || exit 1
