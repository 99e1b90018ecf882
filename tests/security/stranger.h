/* tests/security/stranger.h -- Database files that a stranger has forged, and connections that open them as one should: with
 * trusted_schema off, defensive on, and traps that must not spring.
 *
 * A forged file has a table t, a table `secret` that no statement of an index may read, and indexes over t that take
 * FORGED as their condition. A forger writes another text in its place: into the schema, into the triggers, and into the tables
 * of the indexes.
 */
#ifndef IFOREST_TESTS_STRANGER_H
#define IFOREST_TESTS_STRANGER_H

#include "tests/sqlite/harness.h"

/* What a forger replaces: true for each row. The triggers of an index name the columns of its condition, so that those of l have the
 * text that the index expects if the other condition names ts, too. */
#define FORGED "(ts IS NOT -7777)"

/* Makes the file: l is an index with sync=log and two derived tables l_fold and l_rows, a one with sync=append and a_fold, m one
 * with sync=manual. Rows are pending in l and a. A view has the same names with v_ before them for l, l_fold, a and a_fold. */
void make_forgeable(const char *path);

/* A connection that forges the file again and again. */
struct forger {
	sqlite3 *db;
	int n;
};

void forger_open(struct forger *forger, const char *path);
void forger_close(struct forger *forger);

/* Writes the text in the place of FORGED: what the schema has as arguments (in_schema), in which SQLite wants parentheses closed,
 * and what x_config has, which may be any text. */
void forge(struct forger *forger, const char *text, bool in_schema);

/* Writes rows of the schema and of x_config as they were. */
void forge_back(struct forger *forger);

/* Counts of what must not happen in a stranger's file. */
struct traps {
	unsigned n_calls;      /* of functions that the program has defined, and of load_extension() */
	unsigned n_secrets;    /* tables read that are not the index's or its table's */
	unsigned n_statements; /* statements begun since they were last counted */
	unsigned n_ticks;      /* thousands of steps of SQLite's machine since then; at a thousand a query is stopped */
};

/* The functions that the program has defined; of each flag one. */
extern const char *const trap_names[];
extern const size_t n_trap_names;

/* Opens the file with the extension as a stranger's, with traps; with trusted_schema as given. */
sqlite3 *open_strangers(const char *path, bool is_trusted, struct traps *traps);

/* Fails if a trap has sprung. `text` is what was forged. */
void expect_no_trap(const struct traps *traps, const char *text);

#endif
