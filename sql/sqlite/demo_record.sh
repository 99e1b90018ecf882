#!/bin/sh
# Records a trace on the spot: clang compiles this project's own C files and a C++ file full of standard headers, eight at a time,
# and writes down what it does (-ftime-trace). Leaves a JSON file for each of them in the folder $1, and in $1/files.sql what
# demo_load.sql wants to know about them. Prints a dot for each file.
set -eu
out=$1
jobs=8

rm -rf "$out"
mkdir -p "$out"
export TMPDIR="$out"
{
    for header in algorithm functional iostream map memory regex sstream string unordered_map vector; do
        echo "#include <$header>"
    done
    echo 'int main() { std::map<std::string, std::vector<int>> m; std::cout << m.size(); }'
} >"$out/ten_headers.cpp"

# The files of one of the jobs. The first has the C++ file alone, since that takes long; C++ headers may be missing, no matter.
list() {
    if [ "$1" -eq 1 ]; then
        echo "$out/ten_headers.cpp"
    else
        printf '%s\n' core/*/*.c trace/*.c sqlite_ext/*/*.c | awk -v job="$1" -v jobs=$jobs '2 + NR % (jobs - 1) == job'
    fi
}

compile() {
    clang -I. -D_POSIX_C_SOURCE=200809L -O1 -w -ftime-trace -ftime-trace-granularity=0 -c "$1" -o "$2.o" 2>"$2.errors" || return
    begin=$(tail -c 200 "$2.json" | sed -n 's/.*"beginningOfTime": *\([0-9]*\).*/\1/p')
    echo "('$2.json', 'compiler $job', '${1#"$out"/}', ${begin:-NULL})" >"$2.row"
    printf .
}

job=1
while [ $job -le $jobs ]; do
    list $job | while read -r source; do
        compile "$source" "$out/$(echo "${source#"$out"/}" | tr / -)" || true
    done &
    job=$((job + 1))
done
wait

if ! ls "$out"/*.row >/dev/null 2>&1; then
    echo
    cat "$out"/*.errors >&2
    exit 1
fi
{
    echo 'INSERT INTO files(path, track, title, begin_us) VALUES'
    cat "$out"/*.row | sed '$!s/$/,/; $s/$/;/'
} >"$out/files.sql"
rm -f "$out"/*.row "$out"/*.o "$out"/*.errors
