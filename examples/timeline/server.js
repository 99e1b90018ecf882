// server.js -- what the page asks is asked of the server that it comes from.
'use strict';

// Another site's page cannot send this header.
function request(address) {
	return fetch(address, { headers: { 'X-Timeline': '1' } });
}

getTrace();
