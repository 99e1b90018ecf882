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

/* The allocator of SQLite: sqlite3_realloc64 and sqlite3_free. */
extern const struct iforest_alloc ifs_alloc;

/* An error to be reported: a result code and a message from sqlite3_mprintf(), which the struct owns. It keeps the first
 * error; later ones are ignored. */
struct ifs_error {
	int rc;
	char *message;
};

/* Sets the error, if there is none yet, and returns its code. ifs_error_from_db() takes the connection's message. */
int ifs_error_set(struct ifs_error *error, int rc, const char *format, ...);
int ifs_error_from_db(struct ifs_error *error, sqlite3 *db, int rc);
void ifs_error_clear(struct ifs_error *error);

/* Sets the error for a status of core. `index` is the index's name; `io_rc` is the last code that SQLite returned to the
 * pager. Returns SQLite's code. */
int ifs_error_from_status(struct ifs_error *error, enum iforest_status status, const char *index,
			  const struct iforest_fault *fault, int io_rc);

/* True if a retry cannot help: the cause is not memory, the disk, a lock or an interrupt. */
bool ifs_error_is_permanent(int rc);

/* Runs statements that return no rows. Returns SQLite's code, and sets the error to the connection's message. */
int ifs_execute(struct ifs_error *error, sqlite3 *db, const char *format, ...);

/* Prepares one statement. On failure *statement is NULL and the error is set. */
int ifs_prepare(struct ifs_error *error, sqlite3 *db, sqlite3_stmt **statement, const char *format, ...);

/* Run or prepare a text that was built with sqlite3_str, and free it. Otherwise like the two functions above. */
int ifs_execute_text(struct ifs_error *error, sqlite3 *db, sqlite3_str *text);
int ifs_prepare_text(struct ifs_error *error, sqlite3 *db, sqlite3_stmt **statement, sqlite3_str *text);

/* Runs a statement to its end. Returns SQLITE_DONE or an error. Statements that write need it, too: they return a row if
 * PRAGMA count_changes is on. */
int ifs_step_to_end(sqlite3_stmt *statement);

/* Returns the connection's next running statement that writes, after the given one (NULL: the first); NULL if there is
 * none. */
sqlite3_stmt *ifs_next_writer(sqlite3 *db, sqlite3_stmt *after);

/* Reads an argument that must be an integer, or a real with an integral value. name is the table's, for messages. */
int ifs_value_to_integer(const char *name, const char *argument, sqlite3_value *value, int64_t *integer,
			 struct ifs_error *error);

/* Sets the key of a value in distinct sketches (core/model/distinct.h). Returns false if memory runs out.
 * Requires  the value is not NULL */
bool ifs_distinct_key(sqlite3_value *value, int64_t *key);

/* ---- Tokens of SQL text ---- */

/* True if the byte can be part of an unquoted name or of a number. */
bool ifs_is_name_byte(char c);

/* Returns the next token of the SQL text at *at, skipping comments, and its length in *n; NULL at the end. Names and
 * strings keep their quotes. */
const char *ifs_token_next(const char **at, int *n);

/* True if the token is that word; case-insensitive. */
bool ifs_token_is(const char *token, int n, const char *word);

/* True if the token is that name, quoted or not; case-insensitive. */
bool ifs_token_names(const char *token, int n, const char *name);

/* Returns the name in a token, without quotes, from sqlite3_malloc(); NULL if memory runs out. */
char *ifs_token_name(const char *token, int n);

/* True if the words are consecutive tokens anywhere in the text.
 * Requires  the first word differs from all others */
bool ifs_tokens_contain(const char *sql, const char *const *words, unsigned n_words);

#endif
