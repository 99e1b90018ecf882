/* piece.h -- the cover of a window, piece by piece: the nodes and parts of leaf pages whose fold is the answer.
 *
 *   iforest_scan_start(&scan, series);
 *   iforest_pieces_start(&pieces, &scan);
 *   while (!iforest_pieces_next(&pieces, &piece, &found) && found) ...
 *
 * The same steps as those of iforest_scan_next() over a window of one bucket, so it is that fold which is shown.
 */
#ifndef IFOREST_PIECE_H
#define IFOREST_PIECE_H

#include "core/query/scan.h"

struct iforest_piece {
	const struct iforest_run *run;
	bool is_joined;      /* of a run that was joined to the scan */
	unsigned level;      /* of a node that is used whole, 1 stands over a leaf page; 0: entries of one leaf page */
	uint64_t number;     /* of the node on its level; of the leaf page */
	bool time_is_null;   /* entries without a time */
	struct iforest_aggregate aggregate; /* of what is wanted; n_rows is not 0. firsts and lasts are never set */
};

struct iforest_pieces {
	struct iforest_scan *scan;
	struct iforest_wanted wanted;
	uint32_t at;         /* among the scan's active cursors */
	bool in_nulls;       /* the timed entries have been passed */
};

/* Requires  a scan that was started on a series, with bucketing.mode IFOREST_WHOLE. It must be started again for another
 *           use. */
void iforest_pieces_start(struct iforest_pieces *pieces, struct iforest_scan *scan);

/* The next piece that has a live entry that counts, run by run and in the order of their entries; *found is false after the
 * last. Of a run and series with node pages of fan-out B there are at most 2 + 2 (B - 1) a level, without a filter and apart
 * from entries without a time, which are covered by themselves. A filter adds those on the ways to the entries that do not
 * count.
 * Cost    all pieces together open the pages that the answer would; where times are wanted, a node with removed entries one
 *         more a level.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_pieces_next(struct iforest_pieces *pieces, struct iforest_piece *piece, bool *found);

#endif
