/* vtab/select_text.h -- Text of one SELECT: its tokens as SQLite's tokenizer has them, and its clauses.
 *
 * Only a SELECT of the form
 *
 *   SELECT [DISTINCT] results FROM table [WHERE ...] [GROUP BY ...] [HAVING ...] [ORDER BY ...] [LIMIT ...]
 *
 * is divided. The clauses are token ranges that nobody has understood yet.
 */
#ifndef IFS_VTAB_SELECT_TEXT_H
#define IFS_VTAB_SELECT_TEXT_H

#include "sqlite_ext/storage/engine.h"

enum ifs_token_kind {
	IFS_TOKEN_NAME,	  /* or keyword */
	IFS_TOKEN_QUOTED, /* a name in quotes */
	IFS_TOKEN_STRING,
	IFS_TOKEN_BLOB,
	IFS_TOKEN_NUMBER,
	IFS_TOKEN_PARAMETER,
	IFS_TOKEN_OPERATOR /* and punctuation */
};

struct ifs_token {
	const char *at;
	int n;
	enum ifs_token_kind kind;
	int depth;     /* of parentheses around it; those of a pair have the depth of what is around them */
	int parameter; /* the number of an anonymous one, from 1 on */
};

struct ifs_token_range {
	int from, to;
};

enum ifs_clause {
	IFS_CLAUSE_RESULTS,
	IFS_CLAUSE_FROM,
	IFS_CLAUSE_WHERE,
	IFS_CLAUSE_GROUP,
	IFS_CLAUSE_HAVING,
	IFS_CLAUSE_ORDER,
	IFS_CLAUSE_LIMIT,
	IFS_N_CLAUSES
};

/* All zeros before ifs_select_text_read(). */
struct ifs_select_text {
	struct ifs_token *tokens; /* pointing into the text */
	int n_tokens;
	size_t n_reserved;
	struct ifs_token_range clauses[IFS_N_CLAUSES]; /* an absent one is empty */
	bool is_distinct;
};

/* Reads the text, which must live as long as the struct. Returns SQLITE_NOMEM, or SQLITE_OK; *is_divided: it has the form above.
 * Release the struct in any case.
 * Requires  a text that SQLite has prepared */
int ifs_select_text_read(struct ifs_select_text *select, const char *sql, bool *is_divided);

void ifs_select_text_release(struct ifs_select_text *select);

/* True if the token is that keyword, operator, or unquoted name. */
bool ifs_select_text_is(const struct ifs_select_text *select, int token, const char *word);

/* Takes the next part of a range, up to `separator` (an operator or keyword) outside parentheses and CASE, off its front. An AND
 * of BETWEEN separates nothing. Returns false if the range is used up. */
bool ifs_select_text_part(const struct ifs_select_text *select, struct ifs_token_range *range, const char *separator,
			  struct ifs_token_range *part);

/* True if the word is outside all parentheses of the range. */
bool ifs_select_text_has(const struct ifs_select_text *select, struct ifs_token_range range, const char *word);

#endif
