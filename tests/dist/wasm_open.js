// wasm_open.js -- how long the page without a server took to open its file. wasm.sh puts it into the page.
(async () => {
	while (openedIn === null || isAsking || isStale)
		await new Promise(resolve => setTimeout(resolve, 5));
	leaveReport(opened.textContent);
})();
