/* tests/support/sample_index.h -- Index on the memory pager, with the oracle that knows its answers.
 *
 * Fails through cmocka, so it is for tests only. Every entry belongs to a group, which has the entries of one run, whatever
 * that run's number in the manifest.
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
	/* a letter for each value column: i int64, s int64 with sums of squares, h with a histogram, p with products with the
	 * time, a with all of these, f float64 */
	const char *kinds;
	int duration;        /* value column, or ORACLE_NONE */
	uint8_t end_rule;    /* enum iforest_end_rule, whose numbers are those of the oracle */
	bool has_blocks;
};

struct sample_index {
	struct alloc_fault core_alloc, pager_alloc;
	struct iforest_pager_memory memory;
	struct pager_fault pager;        /* between core and memory */
	struct iforest_store store;
	struct iforest_manifest manifest;
	struct oracle oracle;
	uint64_t run_ids[SAMPLE_GROUPS]; /* by group */
	unsigned n_groups;
	size_t n_refs;                   /* refs used so far: none is used twice */
	struct iforest_memtable *memtable; /* NULL, or joined to the scans that sample_compare() makes */
	uint64_t seed;                   /* printed if something differs */
};

struct iforest_node_schema sample_fields(const struct sample_shape *shape);

void sample_start(struct sample_index *index, const struct sample_shape *shape);
void sample_stop(struct sample_index *index); /* asserts that no page is held and no memory leaked */

/* Appends n random entries of a new group to the oracle, and returns the group's number. `style` says how times are
 * distributed. */
enum sample_times { SAMPLE_CROWDED, SAMPLE_STEADY, SAMPLE_WIDE, SAMPLE_EXTREME, SAMPLE_MIXED, SAMPLE_STYLES };
unsigned sample_entries(struct sample_index *index, struct random *dice, size_t n, unsigned n_series, enum sample_times style);

/* Appends one entry without values to the oracle, and returns it to be filled in. The pointer is valid until the next call. */
struct oracle_entry *sample_append(struct sample_index *index, unsigned group, uint32_t series, int64_t time, int64_t ref);

/* Builds the run of a group and publishes it. */
enum iforest_status sample_build(struct sample_index *index, unsigned group);

/* Publishes the manifest with one more run, unless the run has no entries. */
enum iforest_status sample_add_run(struct sample_index *index, const struct iforest_run *run);

/* Publishes the manifest with one more run, of the entries that `add` passes to the writer. They are not in the oracle. */
struct iforest_run sample_write_run(struct sample_index *index,
				    void (*add)(struct iforest_run_writer *writer, const void *context), const void *context);

/* Returns the number of a group's run in the manifest. */
uint32_t sample_run(const struct sample_index *index, unsigned group);

/* Replaces the manifest by the one that was published last. */
enum iforest_status sample_reread(struct sample_index *index);

/* Picks live entries of a group, each with the given chance, and returns their keys in key order; picked[i] is the entry of
 * keys[i]. The caller frees both. */
size_t sample_pick(const struct sample_index *index, struct random *dice, unsigned group, unsigned percent,
		   struct iforest_key **keys, size_t **picked);

/* Removes random live entries from a run, in the index and in the oracle. */
void sample_remove(struct sample_index *index, struct random *dice, unsigned group, unsigned percent);

/* The callback of iforest_run_remove_where(): removes the entries whose keys are given, and fails the test unless it is called
 * for exactly the live entries of the group, once each, in order. .remover.context points to the struct itself, which must stay
 * in place. */
struct sample_remover {
	struct iforest_remover remover;
	const struct sample_index *index;
	struct iforest_key *live;         /* of the group, in key order */
	size_t *entries, n_live, n_asked;
	bool *goes;                       /* for each: it is to be removed */
};

void sample_remover_start(struct sample_remover *remover, const struct sample_index *index, unsigned group);
void sample_remover_stop(struct sample_remover *remover);

/* Removes the entries that are to go, in the index and in the oracle, and checks the calls and counts. */
void sample_remove_where(struct sample_index *index, unsigned group, struct sample_remover *remover);

/* After a removal that was cut off: records in the oracle which of its keys are removed. The leaf pages say so reliably. */
enum iforest_status sample_note_removed(struct sample_index *index, unsigned group, const struct iforest_key *keys,
					const size_t *picked, size_t n_picked);

/* Merges the runs of groups, and returns the new group. */
unsigned sample_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups);
enum iforest_status sample_try_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups);
void sample_note_merge(struct sample_index *index, const unsigned *groups, unsigned n_groups); /* only in the oracle */

/* Fails unless iforest_check() finds no error. */
void sample_check(struct sample_index *index);

struct oracle_question sample_question(const struct sample_index *index, struct random *dice);
struct iforest_request sample_wanted(struct random *dice, const struct sample_index *index);

/* Fails unless the index answers the question as the oracle does. */
void sample_compare(struct sample_index *index, const struct oracle_question *question, const struct iforest_request *request);
/* Compares the answers to n random questions. */
void sample_compare_many(struct sample_index *index, struct random *dice, unsigned n_questions);

/* Sweeps over all n_series series in the window, with a random request; some sweeps skip some of the series. Fails unless each
 * series is answered as by the oracle. Returns how many series the sweep returned. */
unsigned sample_compare_sweep(struct sample_index *index, struct random *dice, const struct oracle_question *window, unsigned n_series);

/* Convert an oracle's entry to the types of core. */
struct iforest_key sample_key(const struct oracle_entry *entry);
struct iforest_entry sample_entry(const struct oracle_entry *entry);

/* Filter that takes all entries of series 0, and of other series those with an odd ref. */
extern const struct iforest_filter sample_odd_refs;

#endif
