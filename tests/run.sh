#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages (if it may), builds the library with its tests, runs them, and ends with the line
#   N passed, M failed, K skipped
# for all configurations together. The exit status is not 0 if anything failed.
#
#   tests/run.sh        configuration main without the suite "thorough": shows that this build works on this
#                       machine (README.md in this folder lists the thorough tests and the reasons)
#   tests/run.sh --all  every test of every configuration
#
# Configurations: main   g++, warnings are errors, with the CUDA device if nvcc is found
#                 asan   clang++, warnings are errors, AddressSanitizer and UndefinedBehaviorSanitizer, host
#                        device; the CUDA device on a fake driver, if main has built the kernels; libFuzzer:
#                        each fuzzer for TW_FUZZ_SECONDS (20), from seed TW_FUZZ_SEED (1)
#                 tsan   g++, ThreadSanitizer, the devices of asan: only the tests with threads
#                 aarch64  g++ for aarch64, warnings are errors, host device, under qemu-user
# Environment:    TW_CONFIGS    configurations to run, with all their tests ("main asan tsan aarch64")
#                 TW_BUILD_DIR  where to build (build/ of the repository)
#                 TW_INSTALL    no: installs nothing and only lists what is missing

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${TW_BUILD_DIR:-$root/build}
all_configs='main asan tsan aarch64'
suites=()
case "$*" in
  '') if [ -z "${TW_CONFIGS+set}" ]; then suites=(--no-suite thorough); fi ;;
  --all) ;;
  *)
    sed -n '/^# Installs/,/^set /{/^#/!d;s/^# \{0,1\}//p;}' "$0"
    if [ "$*" = --help ]; then exit 0; fi
    exit 2
    ;;
esac
configs=$all_configs
if [ ${#suites[@]} -gt 0 ]; then configs=main; fi
configs=${TW_CONFIGS-$configs}
mkdir -p "$build"
build=$(cd "$build" && pwd)
passed=0 failed=0 skipped=0
failures=$build/failures.txt
: >"$failures"

# Prints the failures again above the summary, so that the end of a log has them, and makes sure that the
# summary line is always last and true.
finish() {
  local status=$?
  cat "$failures"
  if [ "$status" -eq 0 ] && [ $((passed + failed + skipped)) -eq 0 ]; then
    say "TW_CONFIGS: \"$configs\" names no configuration, nothing was run"
    failed=1
  fi
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  print_parts
  if [ ${#suites[@]} -gt 0 ]; then say 'tests/run.sh --all runs the thorough tests and the other configurations too'; fi
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  if [ "$status" -eq 0 ] && [ "$failed" -ne 0 ]; then status=1; fi
  exit "$status"
}
trap finish EXIT

# shellcheck source-path=SCRIPTDIR/..
. "$root/tests/setup.sh"

# --- What is needed -------------------------------------------------------------------------

clang_version() { { clang --version || clang-14 --version || echo version 14; } 2>/dev/null |
  sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1; }

# Whether clang has libFuzzer and the sanitizers' run time, which are separate packages.
fuzzer_links() {
  printf 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }' |
    "$(command -v clang++ || command -v clang++-14 || echo false)" -x c++ - -o "$build/fuzzer_links" \
      -fsanitize=fuzzer,address,undefined >/dev/null 2>&1
}

# Whether programs for aarch64 can be built and run; without an emulator a program proves nothing.
aarch64_works() {
  printf 'int main() { return 0; }' | aarch64-linux-gnu-g++ -x c++ - -o "$build/aarch64_works" >/dev/null 2>&1 &&
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/aarch64_works" >/dev/null 2>&1
}

# Packages of what is missing. Without one of "must" the run stops; without one of "may" tests are skipped.
must=() may=()
look() {
  must=() may=()
  have g++ || must+=(g++)
  have c++ || must+=(g++)
  have python3 || must+=(python3)
  have ninja || must+=(ninja-build)
  have pkg-config || must+=(pkg-config)
  have readelf || must+=(binutils)
  header doctest/doctest.h || must+=(doctest-dev)
  header nlohmann/json.hpp || must+=(nlohmann-json3-dev)
  header zlib.h || must+=(zlib1g-dev)
  meson_works || must+=(meson)
  have cmake || may+=(cmake)
  have clang-format-14 || may+=(clang-format-14)
  have abidiff || may+=(abigail-tools)
  have shellcheck || may+=(shellcheck)
  if [ ${#suites[@]} -gt 0 ]; then return; fi
  have clang++ || have clang++-14 || may+=(clang)
  fuzzer_links || may+=("libclang-rt-$(clang_version)-dev")
  aarch64_works || may+=(g++-aarch64-linux-gnu qemu-user)
  have ld.lld || have ld.lld-14 || may+=(lld)
  have doxygen || may+=(doxygen)
  # For the examples, which configuration main runs as a test.
  have cargo || may+=(cargo)
  have go || may+=(golang-go)
  /usr/bin/python3 -c 'import numpy' >/dev/null 2>&1 || may+=(python3-numpy)
}

# --- One configuration ----------------------------------------------------------------------

# count DIR NAME: reads Meson's log and adds its results to the sums. No results at all is a failure, and so is
# a test of $tests that is not in the log, because some versions of Meson ignore unknown names. Failed tests go
# to $failures with the end of their output. With a wrapper the log's file name contains the wrapper's name.
count() {
  local numbers
  numbers=$(python3 - "$2" "$failures" "$1"/meson-logs/testlog*.json "${tests[@]}" <<'PYTHON'
import json, re, sys
config, failures, log_name, *wanted = sys.argv[1:]
good = skip = bad = 0
seen = set()

def tell(test):
    with open(failures, "a") as out:
        out.write(f"== {config}: {test['name']}: {test['result']}, exit status {test['returncode']}, "
                  f"{test['duration']:.1f} s\n")
        printed = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
        out.writelines(line[:400] + "\n" for line in printed[-40:])

try:
    with open(log_name) as log:
        for test in map(json.loads, log):
            result = test["result"]
            # "tilewright:unit / base" up to Meson 1.11, "unit - tilewright:base" since.
            seen.add(re.split(" / |:", test["name"])[-1])
            good += result in ("OK", "EXPECTEDFAIL")
            skip += result == "SKIP"
            if result not in ("OK", "EXPECTEDFAIL", "SKIP"):
                bad += 1
                tell(test)
except (OSError, ValueError, KeyError) as error:
    sys.stderr.write(f"{log_name}: {error}\n")
    bad += 1
for name in wanted:
    if name not in seen:
        bad += 1
        with open(failures, "a") as out:
            out.write(f"== {config}: {name}: it was not run\n")
print(good, bad or int(good + skip == 0), skip)
PYTHON
  )
  local good bad skip
  read -r good bad skip <<<"$numbers"
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
  say "$2: $good passed, $bad failed, $skip skipped, $((SECONDS - started)) s"
}

log_lines() { if [ -e "$1/.ninja_log" ]; then wc -l <"$1/.ninja_log"; else echo 0; fi; }

# say_nvcc DIR LINES: reports nvcc's share of the last build. Its steps follow the first LINES lines of ninja's
# log. The share is divided by the number of cores, because other steps keep the other cores busy.
say_nvcc() {
  local seconds
  if [ ! -e "$1/.ninja_log" ]; then return; fi
  seconds=$(awk -F'\t' -v known="$2" 'NR > known && $4 ~ /^src\/kernels\/.*\.bin$/ { sum += $2 - $1 }
    END { print int(sum / 1000) }' "$1/.ninja_log")
  if [ "$seconds" -gt 0 ]; then add_part "  of that nvcc, $seconds s / $(nproc) cores" $((seconds / $(nproc))); fi
}

# run NAME OPTIONS...: configures, builds $targets and runs $tests (all if empty), restricted by the Meson
# options in $limits. The first configuration that builds everything runs suite "once" for all.
targets=() tests=() limits=() others=()
run() {
  local name=$1 dir=$build/tests-$1
  shift
  started=$SECONDS
  part "$name: configuring"
  say "$name: configuring"
  rm -f "$dir"/meson-logs/testlog*.json
  if ! configure "$dir" -Dtests=enabled "$@"; then
    say "$name: configuring failed" | tee -a "$failures"
    failed=$((failed + 1))
    return
  fi
  part "$name: building"
  say "$name: building"
  local known
  known=$(log_lines "$dir")
  if ! watched "$name: building" ninja -C "$dir" -j "$(nproc)" -k 20 "${targets[@]}"; then
    say "$name: the build failed" | tee -a "$failures"
    failed=$((failed + 1))
    return
  fi
  part "$name: testing"
  say_nvcc "$dir" "$known"
  say "$name: testing"
  # A busy machine or a sanitizer must not look like a hang.
  watched "$name: testing" "$meson" test -C "$dir" --no-rebuild --print-errorlogs --timeout-multiplier 8 \
    "${tests[@]}" "${limits[@]}" "${others[@]}" "${suites[@]}" || true
  if [ ${#targets[@]} -eq 0 ]; then others=(--no-suite once); fi
  count "$dir" "$name"
}

# Sets $clang_c and $clang_cpp, or counts a skip.
find_clang() {
  local clang cache=''
  clang=$(command -v clang || command -v clang-14 || true)
  if [ -z "$clang" ]; then
    say "$config: clang not found, configuration skipped"
    skipped=$((skipped + 1))
    return 1
  fi
  # Meson uses ccache only with compilers that it finds by itself.
  if have ccache; then cache='ccache '; fi
  clang_c=$cache$clang clang_cpp=$cache${clang/clang/clang++}
}

# --- All ------------------------------------------------------------------------------------

install_missing
if ! find_nvcc; then
  say 'no nvcc in PATH or /usr/local/cuda: building and testing the host device only'
fi
if ! has_gpu; then
  say 'no GPU on this machine: the tests of suite "device" are skipped'
fi

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
unset DESTDIR
# Sets $cuda for the sanitizers' configurations: the CUDA device with the kernels that main has compiled.
cuda_of_main() {
  cuda=(-Dcuda=disabled)
  if compgen -G "$build/tests-main/src/kernels/*.fatbin" >/dev/null; then
    cuda=(-Dcuda=enabled "-Dprebuilt_kernels=$build/tests-main/src/kernels")
  fi
}

for config in $configs; do
  case $config in
    main) run main -Dwerror=true -Dcuda=auto -Ddefault_library=both -Dexamples=enabled ;;
    asan)
      # Includes the CUDA device on a fake driver. clang compiles code with sanitizers a third faster than g++.
      # -O1 halves the compile time of the instrumented code; -g1 is enough for line numbers in reports.
      # Callbacks cross the C API, where both sides declare structs of their own: the types of such functions differ.
      if find_clang; then
        cuda_of_main
        limits=(--no-suite device)
        coverage=''
        if fuzzer_links; then
          coverage=" -fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=$root/tests/fuzz/not_covered.txt"
        else
          say 'asan: libFuzzer not found, the fuzzers only run on their corpora and on random inputs'
          skipped=$((skipped + 1))
        fi
        CC=$clang_c CXX=$clang_cpp run asan -Dwerror=true "${cuda[@]}" -Dexamples=disabled \
          -Dbuildtype=debugoptimized -Doptimization=1 -Db_lundef=false -Db_sanitize=address,undefined \
          '-Dc_args=-fno-sanitize-recover=all -g1' "-Dcpp_args=-fno-sanitize-recover=all -fno-sanitize=function -g1$coverage"
        limits=()
      fi
      ;;
    tsan)
      # Only the tests with threads and their targets.
      targets=(tests/capi/capi_threads_test tests/device/embedding_device_test
        tests/base/base_test tests/runtime/runtime_test tests/runtime/boundary_test tests/include/classes_test
        tests/device/ragged_device_test)
      tests=(threads embedding base runtime boundary classes ragged mutants)
      limits=(--no-suite device)
      cuda_of_main
      if [ ${#cuda[@]} -gt 1 ]; then targets+=(tests/runtime/cuda_device_test) tests+=(cuda_device); fi
      # Some kernels place memory at addresses that older ThreadSanitizer run times reject.
      if setarch "$(uname -m)" -R true >/dev/null 2>&1; then
        limits+=(--wrapper "setarch $(uname -m) -R")
      fi
      TSAN_OPTIONS=halt_on_error=1 run tsan "${cuda[@]}" -Dexamples=disabled \
        -Dbuildtype=debugoptimized -Doptimization=1 -Dc_args=-g1 -Dcpp_args=-g1 -Db_sanitize=thread \
        -Db_lundef=false
      targets=() tests=() limits=()
      ;;
    aarch64)
      # Other processors must give the same bits. Tests of sources, tools and the archive run only in main.
      if ! aarch64_works; then
        say 'aarch64: there is no g++ for aarch64 with qemu-user, this configuration is not run'
        skipped=$((skipped + 1))
      else
        limits=(--suite unit --suite host --suite capi --no-suite once --no-suite device)
        run aarch64 --cross-file "$root/tests/cross/aarch64.ini" -Dwerror=true -Dcuda=disabled \
          -Dexamples=disabled -Doptimization=1
        limits=()
      fi
      ;;
    *)
      say "TW_CONFIGS: there is no configuration \"$config\": main, asan, tsan, aarch64"
      exit 1
      ;;
  esac
done
