#!/bin/sh
# Installs what the build, the demo and the tests need and is not there yet. Says nothing, and costs nothing, when all is there.
#
#   install_tools.sh            for the demo
#   install_tools.sh site       for the site of the documents
#   install_tools.sh browser    for the tests: also the site's, and what the timeline is tried in, 440 MB on Debian 12, of which 130 MB are fetched
set -eu

has_command() { command -v "$1" >/dev/null 2>&1; }

has_header() { printf '#include <%s>\n' "$1" | gcc -idirafter /usr/include/nanopb -E - >/dev/null 2>&1; }

required=
wanted=
browser=
has_command gcc || required="$required gcc"
has_command make || required="$required make"
has_command sqlite3 || required="$required sqlite3"
has_header stdio.h || required="$required libc6-dev"
has_header sqlite3ext.h || required="$required libsqlite3-dev"
has_header jsmn.h || required="$required libjsmn-dev"
has_header zlib.h || required="$required zlib1g-dev"
has_header pb_decode.h || required="$required libnanopb-dev"
has_header cmocka.h || required="$required libcmocka-dev"
has_command pkg-config || wanted="$wanted pkg-config"        # tests that an installed library can be built with
has_command clang || wanted="$wanted clang"                  # records the demo's trace; the tests' second compiler
has_command clang-format || wanted="$wanted clang-format"    # the form of the sources
pg_config() { command "${PG_CONFIG:-pg_config}" "$1" 2>/dev/null || echo /nowhere; }
[ -x "$(pg_config --bindir)/initdb" ] || wanted="$wanted postgresql"    # for the PostgreSQL side: a server to test in,
[ -e "$(pg_config --includedir-server)/postgres.h" ] || wanted="$wanted postgresql-server-dev-all"    # its headers and test drivers,
[ -e "$(pg_config --includedir)/libpq-fe.h" ] || wanted="$wanted libpq-dev"    # what clients need
perl -MIPC::Run -e 1 2>/dev/null || wanted="$wanted libipc-run-perl"    # and tests with several servers
has_command rsvg-convert || wanted="$wanted librsvg2-bin"    # the demo's pictures as PNG

if [ -n "${1:-}" ]; then
    has_command mkdocs && [ -d /usr/share/mkdocs/themes/material ] || browser="$browser mkdocs mkdocs-material"
    has_command node || browser="$browser nodejs"
fi
if [ "${1:-}" = browser ]; then
    has_command chromium || browser="$browser chromium"
    has_command chromedriver || browser="$browser chromium-driver"
    has_command curl || browser="$browser curl"
    has_header microhttpd.h || browser="$browser libmicrohttpd-dev"
fi

[ -n "$required$wanted$browser" ] || exit 0

if ! has_command apt-get; then
    echo "Please install with your system's package manager (names as in Debian):$required$wanted$browser"
    [ -z "$required" ]
    exit
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! has_command sudo; then
        echo "Please run as root: apt-get install$required$wanted$browser" >&2
        [ -z "$required" ]
        exit
    fi
    as_root="sudo"
fi

apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }

install() { apt install -y --no-install-recommends "$@" >/dev/null; }

echo "Installing with apt-get:$required$wanted$browser"
have_lists() { ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; }
have_lists || apt update
# The lists are words to be split.
# shellcheck disable=SC2086
[ -z "$required$wanted" ] || install $required $wanted 2>/dev/null || { apt update && install $required $wanted; }
# Not every system has these under the names that Debian gives them. Without them their tests are skipped.
# shellcheck disable=SC2086
[ -z "$browser" ] || install $browser || echo "Not installed, so the timeline or the site is not tested:$browser" >&2
