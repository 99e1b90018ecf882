// npm/index.js -- Path of the SQLite module of iforest for the platform that runs this.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** linux-x64, linux-arm64-musl, win32-x64 ...: the end of the name of the package that has the module. */
export function platform() {
	const isMusl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
	return `${process.platform}-${process.arch}${isMusl ? '-musl' : ''}`;
}

/** The path to give to loadExtension(). */
export function getLoadablePath() {
	const name = `iforest-${platform()}`;
	try {
		return require.resolve(`${name}/iforest.${process.platform === 'win32' ? 'dll' : 'so'}`);
	} catch (cause) {
		throw new Error(`iforest: the package ${name} is not installed. Either there is none for this platform (then build the module from ` +
			'its sources), or optional dependencies were left out when iforest was installed', { cause });
	}
}

/** Loads iforest into a database of better-sqlite3, node:sqlite or bun:sqlite. */
export function load(db) {
	db.loadExtension(getLoadablePath());
}
