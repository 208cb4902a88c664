#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages of packaging/debian-packages.txt that are missing, and nothing else: daemons among them, which tests start
# themselves, are neither started nor enabled.
set -eu
list=$(dirname "$0")/debian-packages.txt
wanted=$(grep -v '^#' "$list")
missing=
for package in $wanted; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "deps: installing$missing"
if [ "$(id -u)" != 0 ]; then
    echo "deps: not root; run this, then try again:" >&2
    echo "deps:   sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
fi
# shellcheck disable=SC2086 # one word a package
apt-get install -y -qq --no-install-recommends $missing >/dev/null
for package in $missing; do
    case $package in
        bird2) systemctl -q disable bird bird6 2>/dev/null || true ;;
        frr | keepalived | prometheus | radvd) systemctl -q disable "$package" 2>/dev/null || true ;;
    esac
done
echo "deps: done"
