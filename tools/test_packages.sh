#!/bin/sh
# Installs the programs that tests need beside Python's packages, and the packages that are named
# (Debian, Ubuntu; as root). Tests whose program is missing are skipped, and say which one.
set -eu
packages="postgresql chromium fio libnbd-bin python3-libnbd nbd-client nbdkit qemu-utils nginx $*"

missing=
for package in $packages; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null |
        grep -qx installed || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "test packages: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # a list
apt-get install -y -qq --no-install-recommends $missing >/dev/null
