/** What SQL has: integers beyond 2^53 are BigInts, all others numbers. */
export type Value = number | bigint | string | Uint8Array | null;

export interface Database {
	/** The rows of the last of these statements. Parameters are for a single statement. Throws what SQLite says is wrong. */
	query(sql: string, parameters?: readonly Value[]): Record<string, Value>[];
	/** What each of these statements gives that has columns: their names, and rows of texts as SQLite writes them; NULL is null. */
	show(sql: string): { columns: string[]; rows: (string | null)[][] }[];
	/** Loads a trace as trace2sqlite does, with its indexes. Returns what that prints; throws it if nothing was loaded. */
	loadTrace(name: string, bytes: Uint8Array): string;
	/** The database as a file. */
	bytes(): Uint8Array;
	close(): void;
}

/** Starts the module. Its bytes are read from beside the script, or fetched from there, unless they are given. */
export declare function iforest(wasmBinary?: Uint8Array | ArrayBuffer): Promise<{ open(bytes?: Uint8Array): Database }>;
