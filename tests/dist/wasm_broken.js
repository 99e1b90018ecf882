// wasm_broken.js -- what the page without a server says of a file that is no trace. wasm.sh puts it into the page.
(async () => {
	const said = document.querySelector('.start p:last-child');
	while (!said.textContent.includes('nothing'))
		await new Promise(resolve => setTimeout(resolve, 5));
	leaveReport(said.textContent.replaceAll('\n', ' '));
})();
