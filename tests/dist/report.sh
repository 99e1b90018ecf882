# Lines of TAP about commands. To be sourced, with report_log, a file for what a command says, and report_of, words before each name.
# shellcheck shell=sh

n=0
failed=0

# report NAME COMMAND...: a line, after the end of what the command said if it failed
report() {
	name=$1
	shift
	n=$((n + 1))
	if "$@" >"${report_log:?}" 2>&1; then
		echo "ok $n - ${report_of:-}$name"
	else
		tail -n 60 "$report_log" | sed 's/^/# /'
		echo "not ok $n - ${report_of:-}$name"
		failed=1
	fi
}

# skip NAME REASON: a line about what cannot be tried here
skip() {
	n=$((n + 1))
	echo "ok $n - ${report_of:-}$1 # SKIP $2"
}

report_end() {
	echo "1..$n"
	exit $failed
}
