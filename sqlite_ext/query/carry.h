/* carry.h -- values for buckets that have none: the last one before, or what lies on the line from it to the next one. */
#ifndef IFOREST_SQLITE_CARRY_H
#define IFOREST_SQLITE_CARRY_H

#include "core/query/scan.h"
#include "sqlite_ext/query/arguments.h"
#include "sqlite_ext/storage/dictionary.h"

/* Over the series of one group, whose buckets pass in ascending order. */
struct iforest_carry {
	struct iforest_scan scan;                       /* its own: that of the buckets stands where it stands */
	bool has_scan;
	enum iforest_fill fill;
	uint32_t wanted;                                /* bit v: of value column v */
	/* bit v: the row nearest to the buckets without v that pass now is known */
	uint32_t knows_before, knows_after;
	struct iforest_row before[IFOREST_MAX_VALUES], after[IFOREST_MAX_VALUES];

	/* of the bucket that passed last */
	uint32_t filled;                                /* bit v: it has no v, and this one: */
	/* IFOREST_FILL_LINEAR; IFOREST_FILL_LAST: before[v].value, of the index's kind */
	double lines[IFOREST_MAX_VALUES];
};

/* Fills the value columns of `wanted` (bits) of the buckets of `beside`, whose runs and filter it takes; what they have and
 * have not must be asked for there. Ends with iforest_carry_release(), which does nothing where memory is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_carry_start(struct iforest_carry *carry, enum iforest_fill fill, uint32_t wanted,
					const struct iforest_scan *beside, struct iforest_store *joined,
					const struct iforest_manifest *joined_manifest);
void iforest_carry_release(struct iforest_carry *carry);

/* Turns to another group. */
void iforest_carry_turn(struct iforest_carry *carry);

/* The next bucket of the group, of n series: sets what is of the bucket above.
 * Cost    O(log N) a series, run and gap: the first bucket without a value after one that has it, or the first of all.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_carry_bucket(struct iforest_carry *carry, const struct iforest_series *const *series, uint32_t n,
					 const struct iforest_bucketing *bucketing, int64_t bucket,
					 const struct iforest_aggregate *aggregate);

#endif
