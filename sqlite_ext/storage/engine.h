/* storage/engine.h -- Helpers over the SQLite API: allocator, errors, statements, and a tokenizer of SQL text.
 *
 * Every file of this folder includes this header, directly or through another one, before it calls SQLite.
 */
#ifndef IFS_STORAGE_ENGINE_H
#define IFS_STORAGE_ENGINE_H

#include <sqlite3ext.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/status.h"
#include "core/run/pager.h"

SQLITE_EXTENSION_INIT3

/* sqlite3_realloc64 and sqlite3_free. */
extern const struct iforest_alloc ifs_alloc;

/* An error on its way out: a result code and a message from sqlite3_mprintf(), owned by whoever has the struct.
 * The first error stays; later ones are dropped. */
struct ifs_error {
	int rc;
	char *message;
};

/* Notes an error and returns its code. Takes the code and message of the connection where format is NULL. */
int ifs_error_set(struct ifs_error *error, int rc, const char *format, ...);
int ifs_error_from_db(struct ifs_error *error, sqlite3 *db, int rc);
void ifs_error_clear(struct ifs_error *error);

/* Turns a status of core into an error. `index` is the index's name; `io_rc` is what SQLite returned to the pager, if
 * anything. */
int ifs_error_from_status(struct ifs_error *error, enum iforest_status status, const char *index,
			  const struct iforest_fault *fault, int io_rc);

/* Will the same fail at the next try, too? Not so where memory, the disk, a lock or an interrupt is the trouble. */
bool ifs_error_is_permanent(int rc);

/* Runs statements that return no rows. Returns the code; the connection's message is noted. */
int ifs_execute(struct ifs_error *error, sqlite3 *db, const char *format, ...);

/* Prepares one statement. On failure *statement is NULL and the error noted. */
int ifs_prepare(struct ifs_error *error, sqlite3 *db, sqlite3_stmt **statement, const char *format, ...);

/* Runs a statement to its end. Returns SQLITE_DONE, or an error. Statements that write give a row, too, where PRAGMA
 * count_changes is on. */
int ifs_step_to_end(sqlite3_stmt *statement);

/* The next statement of the connection that writes and is at work, after one of them, NULL for the first; NULL if there is
 * none. */
sqlite3_stmt *ifs_next_writer(sqlite3 *db, sqlite3_stmt *after);

/* Reads an argument that must be an integer, or a real with an integral value; name is that of the table, for messages. */
int ifs_value_to_integer(const char *name, const char *argument, sqlite3_value *value, int64_t *integer,
			 struct ifs_error *error);

/* ---- Tokens of SQL text ---- */

/* Does the byte belong to a name without quotes, or to a number? */
bool ifs_is_name_byte(char c);

/* The next token of SQL text at *at, past comments: its start, and its length in *n; NULL at the end. Names and strings keep
 * their quotes. */
const char *ifs_token_next(const char **at, int *n);

/* Is the token that word, whatever the case? */
bool ifs_token_is(const char *token, int n, const char *word);

/* Is it the name, in quotes or not, whatever the case? */
bool ifs_token_names(const char *token, int n, const char *name);

/* Do the words stand one after the other anywhere in the text? Requires  the first word is none of the others. */
bool ifs_tokens_contain(const char *sql, const char *const *words, unsigned n_words);

#endif
