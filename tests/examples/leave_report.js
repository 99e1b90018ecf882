// leave_report.js -- leaves text in the page's element `report`. run_in_page() of browser.sh puts it before each script.
function leaveReport(text) {
	const element = document.createElement('pre');
	element.id = 'report';
	element.hidden = true;
	element.textContent = text;
	document.body.append(element);
}

/* whoever waits for the report is told what came instead */
window.addEventListener('error', event => leaveReport(`error: ${event.message}`));
window.addEventListener('unhandledrejection', event => leaveReport(`error: ${event.reason}`));
