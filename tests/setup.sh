# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run.sh and examples/run.sh: finds and installs what they need, shows progress, and reports the
# time of each part.
#
# The caller sets $root (the repository) and $build (an existing folder) and defines look(), which fills the arrays
# `must` and `may` with the packages that are missing. Without one of `must` the script stops; without one of `may`
# something is skipped. look() calls meson_works, which sets $meson.
# shellcheck shell=bash disable=SC2154,SC2034  # the variables that the caller shares

say() { printf '== %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
header() { printf '#include <%s>\n' "$1" | c++ -E -x c++ - >/dev/null 2>&1; }

has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

# --- Progress and times -----------------------------------------------------------------------

# watched LABEL COMMAND...: passes the command's output on, with a line at least every ten seconds.
watched() { if have python3; then python3 -B "$root/tests/progress.py" "$@"; else "${@:2}"; fi; }

# beat NAME: prints every eight seconds how long NAME has been running. Runs in the background of commands whose
# output is captured.
beat() {
  local begun=$SECONDS
  while sleep 8 >/dev/null 2>&1; do say "$1: $((SECONDS - begun)) s"; done
}

# part NAME: the time from here until the next call counts as part NAME.
parts=() part_name='' part_begun=0
part() {
  if [ -n "$part_name" ]; then add_part "$part_name" $((SECONDS - part_begun)); fi
  part_name=${1:-} part_begun=$SECONDS
}
add_part() { parts+=("$(printf '%-34s %5d' "$1" "$2")"); }

# Prints the seconds of each part and in total.
print_parts() {
  part ''
  if [ ${#parts[@]} -eq 0 ]; then return; fi
  say 'seconds of each part'
  printf '   %s\n' "${parts[@]}"
  printf '   %-34s %5d\n' 'in all' "$SECONDS"
}

# --- What is needed -----------------------------------------------------------------------------

# Finds the CUDA compiler; it is never installed.
find_nvcc() {
  nvcc=$(command -v nvcc || true)
  if [ -z "$nvcc" ] && [ -x /usr/local/cuda/bin/nvcc ]; then nvcc=/usr/local/cuda/bin/nvcc; fi
  [ -n "$nvcc" ]
}

# Meson 1.0.1 or later: the system's, or one in a virtual environment (Ubuntu 22.04 has 0.61).
meson_works() {
  if [ -x "$build/venv/bin/meson" ]; then
    meson=$build/venv/bin/meson
    return 0
  fi
  meson=meson
  have meson && meson --version | python3 -c '
import re, sys
sys.exit(tuple(map(int, re.findall(r"\d+", sys.stdin.read())[:3])) < (1, 0, 1))'
}

as_root=()
# TW_INSTALL=no: installs nothing and only lists what is missing.
can_install() {
  [ "${TW_INSTALL:-yes}" = yes ] && have apt-get || return 1
  if [ "$(id -u)" -eq 0 ]; then return 0; fi
  have sudo && sudo -n true >/dev/null 2>&1 && as_root=(sudo -n)
}

apt() { watched apt-get "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"; }

install_missing() {
  look
  if [ $((${#must[@]} + ${#may[@]})) -eq 0 ]; then return; fi
  if can_install; then
    part 'installing packages'
    say "installing: ${must[*]} ${may[*]}"
    apt update || true
    # If the installation fails, one by one: a package that this system lacks must not prevent the others.
    apt install -y --no-install-recommends "${must[@]}" "${may[@]}" ||
      for package in "${must[@]}" "${may[@]}"; do
        apt install -y --no-install-recommends "$package" || true
      done
    look
    if ! meson_works; then
      say 'the system has no Meson 1.0.1: putting one into a virtual environment'
      apt install -y --no-install-recommends python3-venv || true
      if python3 -m venv "$build/venv"; then
        "$build/venv/bin/pip" install -q 'meson>=1.0.1,<2' || rm -rf "$build/venv"
      fi
      look
    fi
  fi
  if [ ${#may[@]} -gt 0 ]; then
    say "missing optional packages, their tests are skipped: ${may[*]}"
  fi
  if [ ${#must[@]} -gt 0 ]; then
    say "missing: ${must[*]}"
    say "run as root: apt-get install ${must[*]}"
    case " ${must[*]} " in *" meson "*)
      say "or, where that Meson is older than 1.0.1: python3 -m venv $build/venv &&" \
        "$build/venv/bin/pip install 'meson>=1.0.1,<2'" ;;
    esac
    exit 1
  fi
}

# configure DIR OPTIONS...: reuses the folder of an earlier run if possible.
configure() {
  local dir=$1
  shift
  if [ -f "$dir/build.ninja" ] && watched configuring "$meson" setup --reconfigure "$dir" "$root" "$@"; then return; fi
  rm -rf "$dir"
  watched configuring "$meson" setup "$dir" "$root" "$@"
}
