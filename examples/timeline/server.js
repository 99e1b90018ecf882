// server.js -- what the page asks is asked of the server that it comes from.
'use strict';

// The server's token, which stands behind the # of the address. Another site's page does not know it, and cannot send the header.
function request(address) {
	return fetch(address, { headers: { 'X-Timeline': location.hash.slice(1) } });
}

async function showFile() {
	document.title = `${await (await requestOrThrow('file')).text()} - timeline`;
}

showFile().catch(() => {});
getTrace().catch(error => { document.getElementById('frame').textContent = error.message; });
