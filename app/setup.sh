# Sourced by app/start and tests/run: installs what is missing and builds. Everything it says goes to stderr.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

as_root() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi; }

# install_packages KIND...: installs the packages of app/packages of these kinds that are not there yet.
install_packages() {
  local missing=() kind name
  while read -r kind name; do
    [[ " $* " == *" $kind "* ]] || continue
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
  done <"$root/app/packages"
  [[ ${#missing[@]} -gt 0 ]] || return 0

  echo "Installing ${missing[*]}" >&2
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# is_configured PRESET TESTS: succeeds if the preset's build tree is there, and has the tests if TESTS is ON.
is_configured() {
  [[ -f $root/build/$1/build.ninja ]] &&
    { [[ $2 == OFF ]] || grep -q '^BUILD_TESTING:BOOL=ON' "$root/build/$1/CMakeCache.txt"; }
}

# build PRESET TARGET TESTS: configures where that is needed, then builds what has changed. TESTS is ON or OFF: the
# program alone needs fewer packages. Up to 16 files of a room are compiled together, in about half of the time, and
# asan and tsan take the kernels of the release build.
build() {
  local tree="$root/build/$1" log
  local options=("-DBUILD_TESTING:BOOL=$3" "-DBITNET_PRECOMPILE_TESTS:BOOL=$3" -DCMAKE_UNITY_BUILD:BOOL=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
  if [[ $1 != release && $1 != fuzz ]]; then  # fuzz targets have no kernels
    is_configured release OFF || build release spirv "$3"
    options+=("-DBITNET_KERNELS_OF:PATH=$root/build/release")
  fi
  if [[ ! -f $tree/build.ninja ]]; then echo "Building in $tree; the first time takes a few minutes" >&2; fi
  log=$(cd "$root" && { is_configured "$1" "$3" || cmake --preset "$1" "${options[@]}"; } 2>&1 &&
    cmake --build "$tree" --target "$2" 2>&1) || {
    echo "$log" >&2
    return 1
  }
}
