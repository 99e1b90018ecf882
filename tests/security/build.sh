#!/bin/sh
# What builds and publishes runs nobody else's programs. Folders whose programs are run again (own_folder.sh) are refused where somebody
# else could have put programs there, by each script that keeps one; workflows name actions by commit and have the least permissions. TAP.
set -u
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
# shellcheck source=tests/support/own_folder.sh
. tests/support/own_folder.sh
number=0
report() { # report NAME STATUS
	number=$((number + 1))
	[ "$2" -eq 0 ] && echo "ok $number - $1" || echo "not ok $number - $1"
}

# refuses WORDS COMMAND...: it fails and says so
refuses() {
	words=$1
	shift
	if "$@" >"$temporary/said" 2>&1; then
		return 1
	fi
	grep -qF "$words" "$temporary/said" || { sed 's/^/# /' "$temporary/said"; return 1; }
}

own_folder "$temporary/new" && [ "$(stat -c %a "$temporary/new")" = 755 ]
report "a folder that is not there is created, for its owner to write" $?
(umask 0 && own_folder "$temporary/open") && [ "$(stat -c %a "$temporary/open")" = 755 ]
report "whatever the umask is" $?
own_folder "$temporary/new"
report "it is taken again" $?

bad=$temporary/planted
for kind in "group:770" "others:757" "both:777" "sticky:1777"; do
	mkdir "$bad" && chmod "${kind#*:}" "$bad"
	refuses "others can write into" own_folder "$bad"
	report "writable by ${kind%:*}: refused" $?
	rmdir "$bad"
done
ln -s "$temporary/new" "$bad"
refuses "is not a folder" own_folder "$bad"
report "a link: refused" $?
rm "$bad" && ln -s "$temporary/nowhere" "$bad"
refuses "is not a folder" own_folder "$bad"
report "a link to nowhere: refused" $?
rm "$bad" && : >"$bad"
refuses "is not a folder" own_folder "$bad"
report "a file: refused" $?
rm "$bad"

if [ "$(id -u)" -eq 0 ]; then
	mkdir "$bad" && chown nobody "$bad"
	refuses "belongs to nobody" own_folder "$bad"
	status=$?
	rm -rf "$bad"
else
	refuses "belongs to root" own_folder /usr
	status=$?
fi
report "the folder of somebody else: refused" $status

# The scripts, on a folder that others can write and in which all seems to be there: nothing of it is run.
mkdir "$bad" && chmod 777 "$bad"
for place in base-bullseye cross-bullseye postgresql-17 better-sqlite3@1; do
	mkdir -p "$bad/$place" && : >"$bad/$place/ready" && : >"$bad/$place/ready-cross" && : >"$bad/$place/libsqlite3.so.0"
done
chroot_make_in() {
	IFOREST_DIST=$1
	# shellcheck source=tests/dist/chroot.sh
	(. tests/dist/chroot.sh && "$2" bullseye cross gcc)
}
for command in chroot_make chroot_base chroot_foreign chroot_fresh; do
	refuses "others can write into" chroot_make_in "$bad" $command
	report "$command refuses such a folder" $?
done
# what a script says before it looks at the folder
for script in tests/pg/matrix.sh tests/sqlite/matrix.sh; do
	IFOREST_MATRIX=$bad IFOREST_SQLITE_MATRIX=$bad sh $script prepare >"$temporary/said" 2>&1
	status=$?
	if grep -q '^this needs' "$temporary/said"; then
		echo "ok $((number = number + 1)) - $script # SKIP $(head -n 1 "$temporary/said")"
		continue
	fi
	[ $status -ne 0 ] && grep -q "others can write into" "$temporary/said"
	report "$script refuses such a folder" $?
done
refuses "others can write into" env IFOREST_ASSERT="$bad" tests/pg/assert.sh server
report "tests/pg/assert.sh refuses such a folder" $?

unpinned=$(grep -nE '^[ -]*uses:' .github/workflows/*.yml | grep -vE '@[0-9a-f]{40} # v[0-9]')
[ -z "$unpinned" ] || echo "$unpinned" | sed 's/^/# /'
[ -z "$unpinned" ]
report "workflows name each action by commit and version" $?
without=$(grep -LE '^permissions:$' .github/workflows/*.yml)
[ -z "$without" ] || echo "$without" | sed 's/^/# /'
[ -z "$without" ]
report "workflows say which permissions they have" $?
echo "1..$number"
