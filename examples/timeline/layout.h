/* examples/timeline/layout.h -- Which rows a timeline has, from top to bottom: tracks under their names and parents.
 *
 *     process                heading
 *       thread               a row for each depth
 *         a track below it
 *       operation            asynchronous tracks of one name share rows, as many as run at once
 *       counter              a row for each series
 *
 * A lane is what the index answers for: a track and a depth, in which spans never overlap. A row shows one lane, or several
 * of which each ends before the next one begins.
 */
#ifndef TIMELINE_LAYOUT_H
#define TIMELINE_LAYOUT_H

#include "bytes.h"
#include "database.h"

#include <stdint.h>

/* Headings on a line below this level are indented no further, and their tracks belong to no other. */
enum { MOST_LEVELS = 24 };

enum row_kind { ROW_HEADING, ROW_SPANS, ROW_COUNTER };

struct lane {
	char *track;		      /* of which the layout is the owner, as of all texts here */
	int64_t depth, first, end;    /* in nanoseconds; end is beyond the last span */
	bool has_spans, has_instants; /* instants are on the first lane of their track */
	bool is_open;		      /* its last span was never closed, and goes on to the end of the trace */
	int64_t open_ts, open_id;
	int64_t some_id; /* of its longest span, or of its first instant if it has no spans */
	int row;
};

struct series {
	char *track, *name, *id, *key, *unit; /* which may be NULL, but for the name */
	double least, most;
};

struct row {
	enum row_kind kind;
	int level;	     /* how far it is indented */
	char *label, *title; /* the name, where it is to be written; what else is known */
	int depth;	     /* of ROW_SPANS */
	bool has_spans;
	int from, to; /* its lanes in row_lanes, which are in the order of time */
	int series;   /* of ROW_COUNTER */
};

struct layout {
	int64_t base, length; /* when the trace begins, and how long it is, in nanoseconds */
	int64_t busy
		[2]; /* from where to where nearly all is, from the base on: of the whole trace, unless that is too little of it to be seen */
	struct row *rows;
	struct lane *lanes; /* ordered by track and depth */
	struct series *series;
	int *row_lanes; /* lanes in the order of the rows */
	int n_rows, n_lanes, n_series;
};

/* Reads the tracks of a database. Returns false after it has said on stderr what is wrong. */
bool layout_read(struct layout *layout, sqlite3 *db, const struct tables *tables);

/* The first lane of a track, or -1. */
int layout_first_lane(const struct layout *layout, const char *track);

/* The row of a track's lane, or of the track's first one if it has no such lane; -1 if it has none. */
int layout_row(const struct layout *layout, const char *track, int64_t depth);

/* Appends the rows as a JSON array: [kind, level, label, title, depth, has_spans], and of a counter least, most, unit. */
void layout_describe(const struct layout *layout, struct bytes *out);

#endif
