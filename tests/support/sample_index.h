/* tests/support/sample_index.h -- Index on the memory pager beside the oracle that knows what it must answer.
 *
 * Fails through cmocka, so it is for tests only. Every entry belongs to a group: the entries of one run, whatever number the
 * run has in the manifest.
 */
#ifndef TESTS_SAMPLE_INDEX_H
#define TESTS_SAMPLE_INDEX_H

#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"
#include "core/run/memtable.h"
#include "core/run/remove.h"
#include "core/run/writer.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/oracle.h"
#include "tests/support/pager_fault.h"
#include "tests/support/random.h"

enum { SAMPLE_GROUPS = 64 };

struct sample_shape {
	uint32_t page_bytes, max_batch_pages;
	bool fixed_pages;
	const char *kinds;   /* a letter a value column: i int64, s int64 with sums of squares, h with a histogram, p with products with the time, a with all of these, f float64 */
	int duration;        /* value column, or ORACLE_NONE */
	uint8_t end_rule;    /* enum iforest_end_rule, of the same numbers in the oracle */
	bool has_blocks;
};

struct sample_index {
	struct alloc_fault core_alloc, pager_alloc;
	struct iforest_pager_memory memory;
	struct pager_fault pager;        /* between core and memory */
	struct iforest_store store;
	struct iforest_manifest manifest;
	struct oracle oracle;
	uint64_t run_ids[SAMPLE_GROUPS]; /* of each group */
	unsigned n_groups;
	size_t n_refs;                   /* given so far: none is used twice */
	struct iforest_memtable *memtable; /* NULL, or joined to the scans that sample_compare() makes */
	uint64_t seed;                   /* printed where something differs */
};

struct iforest_node_schema sample_fields(const struct sample_shape *shape);

void sample_start(struct sample_index *index, const struct sample_shape *shape);
void sample_stop(struct sample_index *index); /* asserts that nothing is held or leaked */

/* Appends n random entries to the oracle, of a new group, and gives its number. Times of one `style` are alike. */
enum sample_times { SAMPLE_CROWDED, SAMPLE_STEADY, SAMPLE_WIDE, SAMPLE_EXTREME, SAMPLE_MIXED, SAMPLE_STYLES };
unsigned sample_entries(struct sample_index *index, struct random *dice, size_t n, unsigned n_series, enum sample_times style);

/* Appends one entry, values NULL, to the oracle; gives it to be filled in. The pointer holds until the next call. */
struct oracle_entry *sample_append(struct sample_index *index, unsigned group, uint32_t series, int64_t time, int64_t ref);

/* Builds the run of a group and publishes. */
enum iforest_status sample_build(struct sample_index *index, unsigned group);

/* Publishes the manifest with a run more, unless that is without entries. */
enum iforest_status sample_add_run(struct sample_index *index, const struct iforest_run *run);

/* Publishes the manifest with a run more: of the entries that `add` gives to the writer, which are not in the oracle. */
struct iforest_run sample_write_run(struct sample_index *index,
				    void (*add)(struct iforest_run_writer *writer, const void *context), const void *context);

/* The number of a group's run in the manifest. */
uint32_t sample_run(const struct sample_index *index, unsigned group);

/* Replaces the manifest by what was published last. */
enum iforest_status sample_reread(struct sample_index *index);

/* Keys of live entries of a group, each taken with the given chance, in key order; picked[i] is the entry of keys[i]. Caller
 * frees. */
size_t sample_pick(const struct sample_index *index, struct random *dice, unsigned group, unsigned percent,
		   struct iforest_key **keys, size_t **picked);

/* Removes random live entries from a run, in the index and in the oracle. */
void sample_remove(struct sample_index *index, struct random *dice, unsigned group, unsigned percent);

/* For iforest_run_remove_where(): removes the entries whose keys are given, and fails the test unless exactly the live
 * entries of the group are asked for, once each, in order. .remover.context must point to the struct itself: it stays in
 * place. */
struct sample_remover {
	struct iforest_remover remover;
	const struct sample_index *index;
	struct iforest_key *live;         /* of the group, in key order */
	size_t *entries, n_live, n_asked;
	bool *goes;                       /* of each */
};

void sample_remover_start(struct sample_remover *remover, const struct sample_index *index, unsigned group);
void sample_remover_stop(struct sample_remover *remover);

/* Removes what `goes`, in the index and in the oracle; everything asked and counted rightly. */
void sample_remove_where(struct sample_index *index, unsigned group, struct sample_remover *remover);

/* After a removal that was cut off: which of its keys are removed? Read from the leaf pages, which are to be trusted. */
enum iforest_status sample_note_removed(struct sample_index *index, unsigned group, const struct iforest_key *keys,
					const size_t *picked, size_t n_picked);

/* Merges the runs of groups; gives the new group. */
unsigned sample_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups);
enum iforest_status sample_try_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups);
void sample_note_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups); /* in the oracle alone */

/* iforest_check() must be content. */
void sample_check(struct sample_index *index);

struct oracle_question sample_question(const struct sample_index *index, struct random *dice);
struct iforest_request sample_wanted(struct random *dice, const struct sample_index *index);

/* Asks the index, and fails unless it answers as the oracle does. */
void sample_compare(struct sample_index *index, const struct oracle_question *question, const struct iforest_request *request);
/* A number of random questions. */
void sample_compare_many(struct sample_index *index, struct random *dice, unsigned n_questions);

/* Sweeps over all series, of which there are n_series, in the question's window with a random request, passing some of them in some
 * sweeps; fails unless each answers as the oracle does. Gives the number of series that the sweep gave. */
unsigned sample_compare_sweep(struct sample_index *index, struct random *dice, const struct oracle_question *window, unsigned n_series);

/* Entries as core takes them. */
struct iforest_key sample_key(const struct oracle_entry *entry);
struct iforest_entry sample_entry(const struct oracle_entry *entry);

/* Takes the entries of series 0, and of others those with an odd ref. */
extern const struct iforest_filter sample_odd_refs;

#endif
