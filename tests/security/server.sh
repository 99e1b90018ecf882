#!/bin/sh
# The timeline's server, before those who have no token: what it answers them, and that they do not keep others out. TAP.
set -u
temporary=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$temporary"' EXIT
# shellcheck source=tests/dist/report.sh
. tests/dist/report.sh
report_log=$temporary/log
build=${IFOREST_BUILD:-build}
case $build in /*) ;; *) build=./$build ;; esac

for command in python3 sqlite3; do
	command -v $command >/dev/null || { echo "1..0 # SKIP there is no $command"; exit 0; }
done
echo '#include <microhttpd.h>' | cc -E - >/dev/null 2>&1 || { echo "1..0 # SKIP there is no libmicrohttpd"; exit 0; }

starts() {
	cc -std=c11 -D_GNU_SOURCE -o "$temporary/server" examples/timeline/*.c -lmicrohttpd -lsqlite3 -pthread || return 1
	{
		echo ".load '$build/iforest'"
		echo 'CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT, depth INTEGER, name TEXT); INSERT INTO spans VALUES(1, 0, 9, 1, 0, 1);'
		cat examples/timeline/index.sql
	} | sqlite3 -batch -bail -init /dev/null "$temporary/spans.db" || return 1
	IFOREST=$build/iforest.so TIMELINE_SECONDS=8 "$temporary/server" "$temporary/spans.db" >"$temporary/address" &
	server=$!
	until [ -s "$temporary/address" ]; do kill -0 "$server" && sleep 0.1 || return 1; done
}

# ask: a script of Python, with port, token, and get(ADDRESS, HEADER...) that returns the status of an answer, or 0 if there is none
ask() {
	{
		cat <<-'PYTHON'
			import re, socket, sys, time, urllib.parse
			port, token = re.search(r':(\d+)/#(\w+)', open(sys.argv[1], encoding='ascii').read()).groups()
			def connect():
			    return socket.create_connection(('127.0.0.1', int(port)), timeout=60)
			def get(address, *headers, host='localhost', method='GET'):
			    try:
			        with connect() as connection:
			            lines = [f'{method} {address} HTTP/1.1', *([f'Host: {host}'] if host is not None else []), *headers, 'Connection: close', '', '']
			            connection.sendall('\r\n'.join(lines).encode('latin-1'))
			            return int((connection.recv(100) + b' 0 0').split()[1])
			    except OSError:
			        return 0
		PYTHON
		cat
	} | python3 - "$temporary/address"
}

# each address that answers.c has, and others, is refused without the token, with a wrong one and under a name that is not the server's own
strangers_get_the_page_alone() {
	grep -o '"/[a-z]*", get_' examples/timeline/answers.c | tr -d '",' | sed 's/ get_//' >"$temporary/addresses"
	[ "$(wc -l <"$temporary/addresses")" -ge 8 ] || return 1
	ask <<-PYTHON
		addresses = open('$temporary/addresses', encoding='ascii').read().split() + ['/../answers.c', '//etc/passwd', '/server.c', '/timeline.js/', '/%2e%2e/answers.c', '/timeline.html']
		right = 'X-Timeline: ' + token
		assert get('/trace', right) == 200 and get('/') == 200 and get('/timeline.js') == 200
		for address in addresses:
		    for headers in [[], ['X-Timeline:'], ['X-Timeline: ' + token[:-1]], ['X-Timeline: ' + token + '0'], ['X-Timeline: ' + '0' * len(token)], ['Cookie: X-Timeline=' + token], ['Authorization: ' + token]]:
		        assert get(address, *headers) == 403, (address, headers)
		    assert get(address + '?X-Timeline=' + token) == 403, address
		for address in addresses + ['/', '/timeline.js']:
		    for host in [None, '', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '127.0.0.1:80:80', 'localhost:80x', 'xlocalhost', '127.0.0.1@evil.example', '[::1', '::1', '0.0.0.0', '2130706433']:
		        assert get(address, right, host=host) in (400, 403), (address, host)
		    for method in ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'get']:
		        assert get(address, right, method=method) in (400, 405), (address, method)
	PYTHON
}

# as many connections as there may be, of which nothing or half of a request comes
idle_strangers_make_room() {
	ask <<-'PYTHON'
		idle = [connect() for _ in range(64)]
		for connection in idle[::2]:
		    connection.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n')
		for _ in range(120):
		    if get('/') == 200:
		        sys.exit(0)
		    time.sleep(0.5)
		sys.exit('no room')
	PYTHON
}

# longer than a connection of strangers may be idle
questions_may_take_long() {
	ask <<-'PYTHON'
		sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
		status = get('/sql?' + urllib.parse.urlencode({'q': sql, 't0': 0, 't1': 1}), 'X-Timeline: ' + token)
		assert status == 400, status
	PYTHON
}

report "the server starts" starts
if [ $failed = 0 ]; then
	report "strangers get the page, and nothing else" strangers_get_the_page_alone
	report "strangers that are idle make room" idle_strangers_make_room
	report "a question with the token may take long" questions_may_take_long
fi
report_end
