/** linux-x64, linux-arm64-musl, win32-x64 ...: the end of the name of the package that has the module. */
export declare function platform(): string;

/** The path to give to loadExtension(). Throws where the package for this platform is not installed. */
export declare function getLoadablePath(): string;

/** Loads iforest into a database of better-sqlite3, node:sqlite or bun:sqlite. */
export declare function load(db: { loadExtension(path: string): unknown }): void;
