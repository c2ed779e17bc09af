#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program tilewright-tune from its command line, on the host device.
# Usage: tune_test.sh TILEWRIGHT-TUNE
set -u
tune=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

wrong() {
  echo "failed: $*"
  echo "--- standard output:"
  cat out
  echo "--- standard error:"
  cat err
  failures=$((failures + 1))
}

# expects STATUS WORDS ARGUMENT...: the program ends with this status and says the words.
expects() {
  expected=$1 words=$2
  shift 2
  "$tune" "$@" >out 2>err </dev/null
  status=$?
  [ "$status" = "$expected" ] || wrong "status $status, not $expected, of: $*"
  grep -qF -e "$words" out err || wrong "\"$words\" is not said by: $*"
}

lines_of() {
  grep -c "$1" "$2"
}

# What it says of itself.
expects 0 'tilewright-tune - choose' --help
[ -s err ] && wrong '--help writes to standard error'
for option in shapes out merge device candidates rounds flush hot dry-run help version; do
  grep -q -e "^  --$option" out || wrong "--help does not list --$option"
done
awk 'length > 100 { exit 1 }' out || wrong '--help has a line of more than 100 characters'
expects 0 'tilewright-tune ' --version

# What it does not take.
expects 2 'no shapes' --device host
expects 1 'calibration measures a GPU' --device host --calibrate
expects 2 'unknown option --frobnicate' --frobnicate
expects 2 '--out needs a value' 'n=8 k=8' --out
expects 2 '--merge goes with --out FILE' --merge 'n=8 k=8'
expects 2 '--hot goes without --flush' --hot --flush 4K 'n=8 k=8'
expects 2 '--rounds 0: a number from 1 to 1000' --rounds 0 'n=8 k=8'
expects 2 '--candidates -1: a number from 0' --candidates -1 'n=8 k=8'
expects 2 '--flush 4X: ' --flush 4X 'n=8 k=8'
expects 2 '--flush 1025G: ' --flush 1025G 'n=8 k=8'
expects 2 'not gpu' --device gpu 'n=8 k=8'
expects 2 'cuda: x' --device cuda:x 'n=8 k=8'
expects 2 'an empty shape' --device host ' '
expects 2 'shape 2: k is missing' --device host 'n=8 k=8' 'n=8'
expects 1 'absent.txt: No such file' --shapes absent.txt
expects 1 'no/such: No such file' --device host --out no/such/file 'm=8 n=8 k=8'
expects 1 'device cuda:1023: TW_ERROR_' --device cuda:1023 'm=8 n=8 k=8'

# A list of shapes, from a file and from the command line.
cat >shapes.txt <<'SHAPES'
# a layer
m=8-32 n=64 k=96              # tokens

n=48 k=64 m=16 types=f16->f32 bias=column activation=silu
n=96 k=256 m=16 types=f8e4m3,f8e5m2->bf16 a_scale=1x128 b_scale=128x128 scale_orders=cc
SHAPES
expects 0 'list.txt' --device host --rounds 2 --shapes shapes.txt --out list.txt 'm=8 n=32 k=32'
[ -s out ] && wrong 'with --out something is on standard output'
[ "$(lines_of gemm_host list.txt)" = 6 ] || wrong 'list.txt has not 6 entries'
grep -q '^f8e4m3 bf16 f32 rcr 1 16 96 256 gemm_host_scaled .* by f8e5m2 scales kb$' list.txt ||
  wrong 'list.txt lacks the scaled product'
[ "$(head -n 1 list.txt)" = 'tilewright gemm tuning 1' ] || wrong 'list.txt is no tuning'
[ "$(lines_of ' 64 96 gemm_host' list.txt)" = 3 ] || wrong 'list.txt lacks an m'
grep -q '^f16 f32 f32 rcr 1 16 48 64 gemm_host_full' list.txt || wrong 'list.txt lacks the epilogue'

# Without --out the text is on standard output, and nothing else is.
expects 0 'us' --device host --rounds 1 --hot --candidates 0 'm=8 n=32 k=32'
[ "$(sed -n 1p out)" = 'tilewright gemm tuning 1' ] || wrong 'standard output is no tuning'
[ "$(wc -l <out)" = 3 ] || wrong 'standard output is not the text alone'
echo 'm=8 n=8 k=8' | "$tune" --device host --shapes - >out 2>err || wrong 'standard input'
grep -q ' 8 8 8 gemm_host' out || wrong 'standard input'

# What is in a file stays with --merge, and the old file stays where nothing is tuned.
expects 0 'written to' --device host --rounds 1 --flush 64K --merge --out list.txt 'm=8,16 n=32 k=32'
[ "$(lines_of gemm_host list.txt)" = 7 ] || wrong 'merged, list.txt has not 7 entries'
cp list.txt before.txt
expects 3 'nothing is written' --device host --out list.txt 'm=1000000 n=1000000 k=1000000'
grep -q 'need 6000000000[0-9]* bytes of device memory.* are free' err || wrong 'bytes are not told'
expects 2 'lda is 3' --device host --out list.txt 'm=8 n=8 k=8 lda=3' 'm=8 n=8 k=8'
expects 0 'gemm_host' --device host --dry-run --merge --out list.txt 'm=8-64 n=32 k=32'
[ "$(lines_of gemm_host out)" = 4 ] || wrong 'the dry run does not list 4 m'
cmp -s list.txt before.txt || wrong 'list.txt was changed where nothing was tuned'

# A signal ends the list behind the m that is being measured, and what was measured is written.
"$tune" --device host --rounds 1000 --out part.txt 'm=8-512:8 n=512 k=512' >out 2>err </dev/null &
child=$!
tries=0
while ! grep -q '1/64' err && [ $tries -lt 600 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -TERM $child
wait $child
status=$?
[ $status = 3 ] || wrong "interrupted, the status is $status"
grep -q 'interrupted: the rest' err || wrong 'the interruption is not told'
entries=$(lines_of gemm_host part.txt)
case $entries in
  [1-9] | [1-5][0-9] | 6[0-3]) ;;
  *) wrong "interrupted, part.txt has $entries entries" ;;
esac
set -- part.txt*
[ $# = 1 ] || wrong "beside part.txt there is $*"

[ $failures = 0 ] && echo 'all as it should be'
exit $((failures > 0))
