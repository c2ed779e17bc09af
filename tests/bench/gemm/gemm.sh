#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures gemm on a machine with a GPU and cuBLASLt: every set cold and hot, SQ and DS also in f16,
# torch.mm if it is installed. Prints the tables.
#   tests/bench/gemm/gemm.sh BUILD_DIR [OUTPUT_DIR] [bench_gemm's options, such as --rounds=9]
# BUILD_DIR is configured with -Dbench=true. The tables show medians over all runs with the same
# OUTPUT_DIR. No process takes more than five minutes. CUBLASLT names the library if the loader does
# not find it.
set -uo pipefail
build=$(cd "$1" && pwd)
out=${2:-$build/gemm}
shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$out"
failed=0

measure() {
  "$build/tests/bench/bench_gemm" ${CUBLASLT:+--cublaslt="$CUBLASLT"} --seconds=280 "$@" || failed=$((failed + 1))
}

for mode in cold hot; do
  for set in TINY,ODD-M,ODD-8,ODD-1,ODD-PEER,SQ KS BWD DS LL,DEC; do
    measure --set="$set" --mode="$mode" --json="$out/$mode.jsonl" "${@}"
  done
  measure --set=SQ,DS --dtype=f16 --mode="$mode" --json="$out/f16_$mode.jsonl" "${@}"
done
measure --set=TINY,SQ,DS --min_m=512 --self "${@}"
options=()
if python3 -c 'import torch' 2>/dev/null && python3 "$here/peers_gemm.py" >"$out/torch.txt"; then
  options+=(--torch="$out/torch.txt")
fi
if command -v ncu >/dev/null; then
  python3 "$here/gemm_counters.py" --json="$out/counters" "$build/tests/bench/bench_gemm" ${CUBLASLT:+--cublaslt="$CUBLASLT"} \
    --set=TINY,ODD-M,ODD-8,SQ,KS,BWD,DS,LL --min_m=512 >"$out/counters.md" && options+=(--counters="$out/counters")
fi
python3 "$here/gemm_table.py" "$out"/*.jsonl "${options[@]}" | tee "$out/table.md"
exit "$failed"
