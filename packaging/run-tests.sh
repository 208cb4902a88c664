#!/bin/sh
# `make test`: every check, one after another, each announced; the last line is the sum over all runners.
set -u
cd "$(dirname "$0")/.."
start=$(date +%s)
passed=0 failed=0 skipped=0

say() { echo "== $* ($(($(date +%s) - start)) s)"; }

# step NAME COMMAND...: counts as one test.
step() {
    name=$1; shift
    say "$name"
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}

# counted NAME COMMAND...: adds the numbers of ctest's or pytest's closing line.
counted() {
    name=$1; shift
    say "$name"
    log=$(mktemp)
    { "$@" 2>&1; echo "status=$?" >"$log.status"; } | tee "$log"
    . "$log.status"
    ctest_failed=$(sed -n 's/.*tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\).*/\1/p' "$log" | tail -1)
    ctest_total=$(sed -n 's/.*tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\).*/\2/p' "$log" | tail -1)
    if [ -n "$ctest_total" ]; then
        passed=$((passed + ctest_total - ctest_failed)); failed=$((failed + ctest_failed))
    else
        summary=$(grep -E '^(=+ )?[0-9]+ (passed|failed|skipped|error).* in [0-9.]+s' "$log" | tail -1)
        number() { echo "$summary" | grep -oE "[0-9]+ $1" | grep -oE '[0-9]+' || echo 0; }
        passed=$((passed + $(number passed))); skipped=$((skipped + $(number skipped)))
        failed=$((failed + $(number failed) + $(number error)))
        [ -n "$summary" ] || status=1
    fi
    if [ "$status" != 0 ] && [ "${ctest_failed:-0}" = 0 ] && [ "$failed" = 0 ]; then failed=$((failed + 1)); fi
    rm -f "$log" "$log.status"
}

step "dependencies" packaging/install-dependencies.sh
step "formatting" make -s check-format
step "build: release" make -s build
[ "$failed" = 0 ] || { echo "$passed passed, $failed failed, $skipped skipped"; exit 1; }
# The tests up to `lint` wait more than they compute: what the last ones need is built beside them, and yields to them.
nice -n 19 make -s build-sanitizers >/dev/null 2>&1 &
sanitizers=$!
counted "property tests" make -s test-property
if [ "$(id -u)" = 0 ]; then
    counted "differential tests: eBPF and C++ on the same packets" make -s test-differential
    counted "system tests: netlink and the data path" make -s test-system
    counted "end-to-end tests" make -s test-e2e
    counted "end-to-end tests, every port split" make -s test-e2e-split
    counted "end-to-end tests, every port auto" make -s test-e2e-auto
    counted "end-to-end tests on DPDK" make -s test-e2e-dpdk
    counted "end-to-end tests of the packet path, on modelled NICs" make -s test-e2e-model
else
    echo "not root: differential, system and end-to-end tests are skipped"
    skipped=$((skipped + 7))
fi
counted "the benchmarks' machinery" make -s test-bench
counted "payloads NIC to NIC, in an emulated machine" make -s test-p2p
step "lint" make -s lint
say "waiting for the sanitizers' builds"
wait "$sanitizers" || echo "which failed; the steps below say why"
counted "unit and differential tests, with AddressSanitizer and UndefinedBehaviorSanitizer" make -s test-asan
counted "ThreadSanitizer" make -s test-tsan
counted "fuzz targets" make -s test-fuzz

say "done"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
