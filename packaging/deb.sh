#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# deb.sh BUILD: packs what BUILD holds, into BUILD/../deb; prints the packages' names.
# debhelper, since it knows what Debian asks of maintainer scripts, conffiles, units, stripping and dependencies; what is packed
# is what `cmake --install` installs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
PKTPIT_BUILD=$(cd "$1" && pwd)
export PKTPIT_BUILD
place=$PKTPIT_BUILD/../deb
mkdir -p "$place"
stage=$(mktemp -d "$place/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/pktpit"
cp -r "$root/packaging/debian" "$stage/pktpit/debian"
cd "$stage/pktpit"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$PKTPIT_BUILD/CMakeCache.txt")
sed -i "1s/([^)]*)/($version)/" debian/changelog
DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage -b -us -uc -d >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
mv "$stage"/*.deb "$place"
for package in $(sed -n 's/^Package: //p' debian/control); do
    ls "$(cd "$place" && pwd)/${package}_${version}"_*.deb
done
