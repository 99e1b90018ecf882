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
extern const struct iforest_alloc iforest_sqlite_alloc;

/* An error on its way out: a result code and a message from sqlite3_mprintf(), owned by whoever has the struct.
 * The first error stays; later ones are dropped. */
struct iforest_error {
	int rc;
	char *message;
};

/* Notes an error and returns its code. Takes the code and message of the connection where format is NULL. */
int iforest_error_set(struct iforest_error *error, int rc, const char *format, ...);
int iforest_error_from_db(struct iforest_error *error, sqlite3 *db, int rc);
void iforest_error_clear(struct iforest_error *error);

/* Turns a status of core into an error. `index` is the index's name; `io_rc` is what SQLite returned to the pager, if
 * anything. */
int iforest_error_from_status(struct iforest_error *error, enum iforest_status status, const char *index,
			      const struct iforest_fault *fault, int io_rc);

/* Will the same fail at the next try, too? Not so where memory, the disk, a lock or an interrupt is the trouble. */
bool iforest_is_lasting(int rc);

/* Runs statements that return no rows. Returns the code; the connection's message is noted. */
int iforest_execute(struct iforest_error *error, sqlite3 *db, const char *format, ...);

/* Prepares one statement. On failure *statement is NULL and the error noted. */
int iforest_prepare(struct iforest_error *error, sqlite3 *db, sqlite3_stmt **statement, const char *format, ...);

/* Runs a statement to its end. Returns SQLITE_DONE, or an error. Statements that write give a row, too, where PRAGMA
 * count_changes is on. */
int iforest_step_to_end(sqlite3_stmt *statement);

/* The next statement of the connection that writes and is at work, after one of them, NULL for the first; NULL if there is
 * none. */
sqlite3_stmt *iforest_next_writer(sqlite3 *db, sqlite3_stmt *after);

/* Reads an argument that must be an integer, or a real with an integral value; name is that of the table, for messages. */
int iforest_argument_integer(const char *name, const char *argument, sqlite3_value *value, int64_t *integer,
			     struct iforest_error *error);

/* ---- Tokens of SQL text ---- */

/* Does the byte belong to a name without quotes, or to a number? */
bool iforest_is_name_byte(char c);

/* The next token of SQL text at *at, past comments: its start, and its length in *n; NULL at the end. Names and strings keep
 * their quotes. */
const char *iforest_token_next(const char **at, int *n);

/* Is the token that word, whatever the case? */
bool iforest_token_is(const char *token, int n, const char *word);

/* Is it the name, in quotes or not, whatever the case? */
bool iforest_token_names(const char *token, int n, const char *name);

/* Do the words stand one after the other anywhere in the text? Requires  the first word is none of the others. */
bool iforest_tokens_hold(const char *sql, const char *const *words, unsigned n_words);

#endif
