// wasm_open.js -- how long the page without a server took to open its file. wasm.sh puts it into the page.
(async () => {
	while (openedIn === null || isAsking || isStale)
		await new Promise(resolve => setTimeout(resolve, 5));
	const element = document.createElement('pre');
	element.id = 'report';
	element.hidden = true;
	element.textContent = opened.textContent;
	document.body.append(element);
})();
