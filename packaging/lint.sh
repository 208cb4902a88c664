#!/bin/sh
# clang-tidy over every source file that the build directory compiles; any finding is an error.
set -eu
cd "$(dirname "$0")/.."
build=$1
files=$(git ls-files 'fib/*.cpp' 'config/*.cpp' 'offload/*.cpp' 'router/*.cpp')
echo "$files" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2>/dev/null
