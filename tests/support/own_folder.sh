# Folders that stay between runs and whose programs are run again, as root where root tests. To be sourced.
# shellcheck shell=sh
#
#   own_folder FOLDER    creates it, or says why it cannot be trusted: a link, the folder of somebody else, or one that others can write.
#                        Whoever could put a program into it would have it run by the tests.
own_folder() {
	mkdir -p -- "$(dirname -- "$1")" || return
	# without -p: whatever is there already, a link to nowhere included, makes it fail
	mkdir -m 755 -- "$1" 2>/dev/null && return
	if [ -L "$1" ] || [ ! -d "$1" ]; then
		echo "$1 is not a folder; remove it, or name another folder" >&2
		return 1
	fi
	if [ "$(stat -c %u -- "$1")" != "$(id -u)" ]; then
		echo "$1 belongs to $(stat -c %U -- "$1"), who could have put programs there; remove it, or name a folder of your own" >&2
		return 1
	fi
	case $(stat -c %A -- "$1") in
	?????w???? | ????????w?)
		echo "others can write into $1, and its programs would be run; remove it, or name a folder of your own" >&2
		return 1
		;;
	esac
}
