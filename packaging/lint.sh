#!/bin/sh
# clang-tidy over every source file that the build directory compiles; any finding is an error. What follows the
# build directory is for clang-tidy.
set -eu
cd "$(dirname "$0")/.."
build=$1; shift
files=$(git ls-files 'fib/*.cpp' 'config/*.cpp' 'offload/*.cpp' 'router/*.cpp')
echo "$files" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --warnings-as-errors='*' "$@" 2>/dev/null
