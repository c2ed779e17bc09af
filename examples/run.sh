#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages (if it may), builds the library into its own install prefix, builds every example
# against it as an independent project, runs the examples on generated files, and checks every result with a
# computation that shares no code with the library. It prints lines
#   checked: ...   FAILED: ...   skipped: ...
# and at the end `N passed, M failed, K skipped`. The exit status is not 0 if anything failed.
#
# Everything runs on the host device, and on a GPU if there is one. Without a GPU the library is built
# without kernels, because nothing here would run them (tests/run.sh compiles them).
# Environment: TW_BUILD_DIR      where to build (build/ of the repository)
#              TW_MESON_OPTIONS  more options for the library, such as -Dprebuilt_kernels=DIR
#              TW_LIBRARY_BUILD  a build folder whose static library is used instead of building one
#              TW_CHECKER        numpy or c; by default NumPy if it is installed
#              TW_INSTALL        no: installs nothing and only lists what is missing
#              TW_BUILT          not empty: builds nothing and runs what an earlier call has built
set -euo pipefail
exec </dev/null

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${TW_BUILD_DIR:-$root/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
examples=$root/examples
prefix=$build/examples-prefix
out=$build/examples-out # output of the examples' own builds
data=$build/examples-data
passed=0 failed=0 skipped=0

# The summary line must always be last and true.
finish() {
  local status=$?
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  print_parts
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  if [ "$status" -eq 0 ] && [ "$failed" -ne 0 ]; then status=1; fi
  exit "$status"
}
trap finish EXIT

# shellcheck source-path=SCRIPTDIR/..
. "$root/tests/setup.sh"

checked() { passed=$((passed + 1)) && printf 'checked: %s\n' "$*"; }
wrong() { failed=$((failed + 1)) && printf 'FAILED: %s\n' "$*"; }
skip() { skipped=$((skipped + 1)) && printf 'skipped: %s\n' "$*"; }

# --- What is needed -------------------------------------------------------------------------

must=() may=()
look() {
  must=() may=()
  have cc || must+=(gcc)
  have c++ || must+=(g++)
  have make || must+=(make)
  have python3 || must+=(python3)
  have ninja || must+=(ninja-build)
  have pkg-config || must+=(pkg-config)
  have objcopy || must+=(binutils)
  meson_works || must+=(meson)
  have cargo || may+=(cargo)
  have go || may+=(golang-go)
  find_numpy || may+=(python3-numpy)
}

# Finds a python3 with NumPy: in PATH, or the system's, for which packages install it.
find_numpy() {
  for numpy_python in python3 /usr/bin/python3; do
    if "$numpy_python" -c 'import numpy' >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# --- Building -------------------------------------------------------------------------------

# quietly NAME COMMAND...: writes the output to a log, which is shown if the command fails.
quietly() {
  local log=$build/examples-logs/$1.log status=0 beating
  mkdir -p "$build/examples-logs"
  say "$1"
  beat "$1" &
  beating=$!
  "${@:2}" >"$log" 2>&1 || status=1
  kill "$beating"
  if [ "$status" -ne 0 ]; then cat "$log"; fi
  return "$status"
}

# Installs what a build folder has, and moves the prefix. Only the static library is kept, because a linker
# prefers a shared one.
take_library() {
  local staged=$build/examples-staged found
  say "installing the library of $TW_LIBRARY_BUILD into $prefix"
  rm -rf "$prefix" "$staged"
  quietly install "$meson" install -C "$TW_LIBRARY_BUILD" --no-rebuild --destdir "$staged" || return 1
  found=$(find "$staged" -path '*/include/tilewright/tilewright.h')
  mv "${found%/include/*}" "$prefix"
  find "$prefix" -name 'libtilewright.so*' -delete
}

build_library() {
  local kernels=()
  if ! has_gpu; then kernels=(-Dcuda=disabled); fi
  say "building the library and installing it into $prefix"
  # shellcheck disable=SC2086  # several options
  quietly configure configure "$build/examples-library" -Dtests=disabled -Dexamples=disabled \
    --prefix "$prefix" --libdir lib "${kernels[@]}" ${TW_MESON_OPTIONS:-} || return 1
  quietly compile ninja -C "$build/examples-library" -j "$(nproc)" || return 1
  rm -rf "$prefix"
  quietly install "$meson" install -C "$build/examples-library" --no-rebuild || return 1
  sed -n '/^  tilewright$/,/^$/p' "$build/examples-logs/configure.log"
}

install_library() {
  if [ -n "${TW_LIBRARY_BUILD:-}" ]; then take_library; else build_library; fi
  archive=$(find "$prefix" -name libtilewright.a)
  export PKG_CONFIG_PATH=${archive%/*}/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
}

build_c() { quietly "build-$1" make -C "$examples/c/$1" OUT="$out/$1" "${@:2}"; }

build_cpp() {
  quietly configure-cpp "$meson" setup "$out/cpp" "$examples/cpp" &&
    quietly build-cpp ninja -C "$out/cpp"
}

# From a copy, because cargo writes Cargo.lock next to the sources.
build_rust() {
  cp -r "$examples/rust" "$out/rust-project"
  rm -f "$out/rust-project/Cargo.lock"
  (cd "$out/rust-project" &&
    CARGO_TARGET_DIR=$out/rust quietly build-rust cargo build --release --offline)
}

# With its own cache: Go does not rebuild when pkg-config's answer changes.
build_go() {
  (cd "$examples/go" &&
    GOCACHE=$out/go-cache quietly build-go go build -o "$out/go/" ./copythengemm ./decode)
}

# Links a shared library from the static one, next to a copy of tilewright.py. The programs are shell scripts.
build_python() {
  mkdir -p "$out/python"
  cp "$examples"/python/*.py "$out/python"
  quietly build-python cc -shared -o "$out/python/libtilewright.so" -Wl,--whole-archive \
    "$archive" -Wl,--no-whole-archive -lstdc++ -lm -pthread -ldl || return 1
  local name
  for name in test_tilewright test_numpy decode; do
    printf '#!/bin/sh\nexec "%s" -B "%s" "$@"\n' "$numpy_python" "$out/python/$name.py" \
      >"$out/python/$name"
    chmod +x "$out/python/$name"
  done
}

# Selects the program that makes the inputs and checks the results.
choose_checker() {
  case ${TW_CHECKER:-$(find_numpy && echo numpy || echo c)} in
    numpy)
      find_numpy
      checker=("$numpy_python" -B "$examples/check/npy_check.py")
      ;;
    c) checker=("$out/npy_check") ;;
    *)
      say 'TW_CHECKER: numpy or c is needed'
      return 1
      ;;
  esac
}

# --- Checks ---------------------------------------------------------------------------------

# runs NAME COMMAND...: the command must succeed; exit status 77 is a skip.
runs() {
  local status=0
  say "$1"
  "${@:2}" >"$data/output" 2>&1 || status=$?
  sed 's/^/  /' "$data/output"
  case $status in
    0) checked "$1" ;;
    77) skip "$1: $(sed -n 's/^skipped: //p' "$data/output")" ;;
    *) wrong "$1: exit code $status" ;;
  esac
}

# on_each_device NAME PROGRAM: runs a program that takes the device's name on each device.
on_each_device() {
  if [ ! -x "$2" ]; then
    skip "$1: the tools to build it are not installed"
    return
  fi
  local device
  for device in "${devices[@]}"; do runs "$1 on $device" "$2" "$device"; done
}

# npy OP INPUTS... [OPTIONS...]: runs npy_ops on $device and checks its output. A name without a slash is a file
# in $data. The checker gets the inputs, the result and, for a copy, the box.
npy() {
  local op=$1 box='' inputs=() numbers result=$data/result.npy message
  shift
  while [ $# -gt 0 ]; do
    if [ "$1" = --box ]; then
      box=$2
      shift
    else
      inputs+=("$data/$1.npy")
    fi
    shift
  done
  local name="npy_ops $op ${inputs[*]##*/} ${box:+$box }on $device"
  rm -f "$result"
  say "$name"
  if ! "$out/npy_ops/npy_ops" "$op" "${inputs[@]}" ${box:+--box "$box"} -o "$result" \
    --device "$device" | sed 's/^/  /'; then
    wrong "$name"
    return
  fi
  read -ra numbers <<<"${box//[:,]/ }" # four numbers for the checker
  if message=$("${checker[@]}" "$op" "${inputs[@]}" "$result" "${numbers[@]}" 2>&1); then
    checked "$name: $message"
  else
    wrong "$name: $message"
  fi
}

# refuses EXIT PATTERN ARGUMENTS...: npy_ops must exit with this code, print one matching line on stderr and
# nothing on stdout, and leave no output file.
refuses() {
  local code=$1 pattern=$2 status=0 folder=$data/refused
  shift 2
  rm -rf "$folder"
  mkdir "$folder"
  (cd "$data" && "$out/npy_ops/npy_ops" "$@" -o "$folder/result.npy") \
    >"$data/stdout" 2>"$data/stderr" || status=$?
  if [ "$status" -eq "$code" ] && [ "$(wc -l <"$data/stderr")" -eq 1 ] && [ ! -s "$data/stdout" ] &&
    grep -q -e "$pattern" "$data/stderr" && [ -z "$(ls -A "$folder")" ]; then
    checked "exit code $code: $(cat "$data/stderr")"
  else
    wrong "npy_ops $*: exit code $status (not $code), output: $(ls -A "$folder")"
    cat "$data/stderr"
  fi
}

# --- All ------------------------------------------------------------------------------------

make_bad_files() {
  head -c 100000 "$data/t_f32.npy" >"$data/bad_truncated.npy"
  head -c 70 "$data/t_f32.npy" >"$data/bad_header.npy"
  printf 'this is no array\n' >"$data/bad_text.npy"
}

check_operations() {
  npy gemm a_bf16 b_bf16
  npy gemm a_bf16 b_bf16_f
  npy gemm a_f16 b_f16
  npy gemm a_f16_f b_f16
  npy gemm a_f16 b_f16_f
  npy gemm a_f16_f b_f16_f
  npy gather t_f32 index
  npy gather t_f16 index_small
  npy gather t_f32_f index_small
  npy scatter t_f32 index_unique s_f32
  npy scatter t_f16 index_small s_f16
  npy copy t_f32 --box 0:8192,0:512
  npy copy t_f32 --box 1001:7002,100:404
  npy copy t_f32 --box 1001:7002,101:402
  npy copy t_f32_f --box 3:701,2:333
  npy copy t_f16 --box 1:1000,1:332
  npy copy a_bf16 --box 999:1001,1502:1503
}

check_refusals() {
  local on=(--device host)
  refuses 2 'truncated' gather bad_truncated.npy index.npy "${on[@]}"
  refuses 2 'header' copy bad_header.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 'not an .npy file' copy bad_text.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 'cannot be opened' copy absent.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 "dtype '<f8'" copy bad_f64.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 'dtype <f4; gemm' gemm t_f32.npy t_f32.npy "${on[@]}"
  refuses 2 'must have the same dtype' gemm a_bf16.npy b_f16.npy "${on[@]}"
  refuses 2 'columns of the first' gemm a_bf16.npy a_bf16.npy "${on[@]}"
  refuses 2 'indices are <i4 or <i8' gather t_f32.npy t_f16.npy "${on[@]}"
  refuses 2 'expected a vector' gather t_f32.npy bad_index_rank.npy "${on[@]}"
  refuses 2 'index 8192 at position 1' gather t_f32.npy bad_index_high.npy "${on[@]}"
  refuses 2 'index -1 at position 1' gather t_f32.npy bad_index_negative.npy "${on[@]}"
  refuses 2 'index 4294967299' gather t_f32.npy bad_index_wide.npy "${on[@]}"
  refuses 2 'is repeated' scatter t_f32.npy bad_index_twice.npy s_f32.npy "${on[@]}"
  refuses 2 'is needed for 3001 indices' scatter t_f32.npy index_unique.npy t_f32.npy "${on[@]}"
  refuses 2 '3 dimensions' copy bad_rank.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 'is empty' copy bad_empty.npy --box 0:1,0:1 "${on[@]}"
  refuses 2 'reaches outside' copy t_f16.npy --box 0:1001,0:1 "${on[@]}"
  refuses 2 'box 5:5' copy t_f16.npy --box 5:5,0:1 "${on[@]}"
  refuses 2 'needs --box' copy t_f16.npy "${on[@]}"
  refuses 2 'takes 2 input files' gemm a_bf16.npy "${on[@]}"
  refuses 2 'unknown operation multiply' multiply a_bf16.npy b_bf16.npy "${on[@]}"
  refuses 2 '--device gpu' gemm a_bf16.npy b_bf16.npy --device gpu
  if [ "$gpu" = no ]; then
    refuses 1 'opening the device: TW_ERROR_' gemm a_bf16.npy b_bf16.npy --device cuda
  fi
}

# The output of tilewright-info: text, and valid JSON.
check_info() {
  local info=$prefix/bin/tilewright-info
  runs 'tilewright-info' "$info"
  if "$info" --json >"$data/info.json" && "$info" --kernels --json >"$data/kernels.json" &&
    python3 - "$data/info.json" "$data/kernels.json" <<'PYTHON'
import json, sys
about, kernels = (json.load(open(name)) for name in sys.argv[1:])
host, *gpus = about["devices"]
assert host["kind"] == "host" and host["features"] == ["host"], host
assert gpus, "neither a GPU nor a reason why there is none"
for gpu in gpus:  # a GPU lists its features, or an error
    assert gpu["kind"] == "cuda" and ("tma" in gpu["features"]) != ("error" in gpu), gpu
    assert "error" in gpu or gpu["kernels"], gpu
assert host["kernels"] == "run", host
assert sum(f["kernels"] for f in about["families"]) == len(kernels)
PYTHON
  then
    checked 'tilewright-info --json, --kernels'
  else
    wrong 'tilewright-info --json, --kernels'
  fi
}

# The decode step of every language must write the same bytes as the C program, which are checked.
check_decode() {
  local wanted=$data/decode-c-$device.bytes given=$data/decode.bytes status language program message
  rm -f "$wanted"
  for language in c cpp rust go python; do
    case $language in
      c) program=$out/decode/decode ;;
      rust) program=$out/rust/release/decode ;;
      *) program=$out/$language/decode ;;
    esac
    if [ ! -x "$program" ]; then
      skip "decode in $language: the tools to build it are not installed"
      continue
    fi
    status=0
    "$program" "$device" >"$given" 2>"$data/stderr" || status=$?
    if [ "$status" -eq 77 ]; then
      skip "decode in $language on $device: $(sed -n 's/^skipped: //p' "$data/stderr")"
    elif [ "$status" -ne 0 ]; then
      wrong "decode in $language on $device: exit code $status: $(cat "$data/stderr")"
    elif [ "$language" != c ] && cmp -s "$given" "$wanted"; then
      checked "decode in $language on $device: the same bytes as in c"
    elif [ "$language" != c ]; then
      wrong "decode in $language on $device: other bytes than in c"
    elif mv "$given" "$wanted" &&
      message=$(python3 -B "$examples/check/decode_check.py" "$wanted" 2>&1); then
      checked "decode in c on $device: $message"
    else
      wrong "decode in c on $device: $message"
    fi
  done
}

# The program in README.md must be the file that is built here.
check_readme() {
  local shown
  shown=$(awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/README.md")
  if [ "$shown" = "$(tail -n +2 "$examples/c/first/first.c")" ]; then
    checked 'the C program of README.md is examples/c/first/first.c'
  else
    wrong 'the C program of README.md differs from examples/c/first/first.c'
  fi
}

# The structs and constants in the bindings of Rust and Python must match the header.
check_layouts() {
  if python3 -B "$examples/bindings.py" --layouts |
    cc -std=c99 -I "$prefix/include" -fsyntax-only -x c -; then
    checked 'the structs of the bindings lie as those of the header'
  else
    wrong 'the structs of the bindings differ from the header'
  fi
}

build_in_c() {
  part 'building the library'
  install_library
  part 'building the examples in C and C++'
  say 'building the examples in C and C++'
  rm -rf "$out" # it may be built with an older header
  mkdir -p "$out"
  cc -std=c99 -O2 -o "$out/npy_check" "$examples/check/npy_check.c" -lm
  for example in first decode npy_ops gather_gemm_scatter moe_layer; do build_c "$example"; done
  build_c own_kernel "$out/own_kernel/own_kernel"
  # Its kernel is compiled if it can run here, and if tests/run.sh checks that it compiles.
  if [ -n "$nvcc" ] && { has_gpu || [ -n "${TW_LIBRARY_BUILD:-}" ]; }; then build_c own_kernel NVCC="$nvcc"; fi
  build_cpp
}

build_in_other_languages() {
  part 'building the examples in Rust, Go and Python'
  say 'building the examples in Rust, Go and Python'
  if have cargo; then build_rust || wrong 'examples/rust does not build'; fi
  if have go; then build_go || wrong 'examples/go does not build'; fi
  if ! find_numpy; then numpy_python=python3; fi
  build_python || wrong 'examples/python has no library'
}

unset DESTDIR
if [ -z "${TW_BUILT:-}" ]; then
  install_missing
  if ! find_nvcc && has_gpu; then
    say 'no nvcc in PATH or /usr/local/cuda: the library is built for the host device only'
  fi
  build_in_c
fi
part 'checking the examples in C and C++'
mkdir -p "$data"
choose_checker
"${checker[@]}" make "$data"
make_bad_files

# Which devices there are, as the program reports.
gpu=no
devices=(host)
"$out/npy_ops/npy_ops" copy "$data/t_f16.npy" --box 0:8,0:8 -o "$data/result.npy" >"$data/output"
say "$(grep '^device' "$data/output")"
if grep -q '^device *cuda' "$data/output"; then
  gpu=yes
  devices=(host cuda)
fi

runs 'examples/c/first' "$out/first/first"
if grep -q '^D\[0\]\[0\] = 608$' "$data/output"; then
  checked 'examples/c/first: 304 products of 1 and 2 make 608'
else
  wrong 'examples/c/first: 608 is expected'
fi
check_readme
check_info
on_each_device examples/c/gather_gemm_scatter "$out/gather_gemm_scatter/gather_gemm_scatter"
on_each_device examples/c/moe_layer "$out/moe_layer/moe_layer"
for device in "${devices[@]}"; do
  runs "examples/c/moe_layer with three of the experts on $device" "$out/moe_layer/moe_layer" "$device" 2 3
done
for device in "${devices[@]}"; do check_operations; done
check_refusals
if [ -e "$out/own_kernel/tma_load.fatbin" ]; then
  runs 'examples/c/own_kernel' "$out/own_kernel/own_kernel" "$out/own_kernel/tma_load.fatbin"
else
  skip 'examples/c/own_kernel: its kernel is built where there are a GPU and nvcc'
fi
on_each_device examples/cpp "$out/cpp/windows"

if [ -z "${TW_BUILT:-}" ]; then build_in_other_languages; fi
part 'checking the examples in all languages'
check_layouts
for device in "${devices[@]}"; do check_decode; done
on_each_device examples/rust "$out/rust/release/copy-then-gemm"
on_each_device examples/go "$out/go/copythengemm"
on_each_device examples/python "$out/python/test_tilewright"
if [ -x "$out/python/test_numpy" ]; then runs 'examples/python with NumPy' "$out/python/test_numpy"; fi
