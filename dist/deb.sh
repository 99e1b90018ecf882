#!/bin/sh
# Builds the Debian packages of a tree of the sources, for each server that is there, into FOLDER.
#
#   dist/deb.sh FOLDER          in the root of the sources, where nothing but the sources lies; needs what debian/control.in names
#
# debian/control is made of control.in, and the changelog of CHANGELOG.md's version and date: the files of git name neither.
# LINTIAN=yes runs lintian over what was built; any tag that it has is an error.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pg/iforest.control)
epoch=${SOURCE_DATE_EPOCH:-$(date +%s)}
export SOURCE_DATE_EPOCH="$epoch"
# packages of debugging symbols are for archives
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-noautodbgsym}"

cat >debian/changelog <<END
iforest ($version-1) unstable; urgency=medium

  * Version $version, as CHANGELOG.md has it.

 -- the iforest developers <maintainers@iforest.invalid>  $(date -u -R -d "@$epoch")
END
pg_buildext updatecontrol
dpkg-buildpackage -us -uc -b "-j$(nproc)"
for file in $(sed 's/ .*//' debian/files); do
	mv "../$file" "$folder"
done
mv ../iforest_"$version"-1_*.changes "$folder"
# not an upload to Debian, so it closes no bug there
[ "${LINTIAN:-no}" = no ] ||
	lintian --fail-on error,warning --allow-root --suppress-tags initial-upload-closes-no-bugs "$folder"/*.changes
