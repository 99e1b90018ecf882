#include "pg_ext/lasting.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Pages that were appended are neighbours, so what is known of them stands together. */
enum { PAGES_A_GROUP = 128 };

struct page_fact {
	XLogRecPtr lsn;              /* 0: nothing is known */
	TransactionId newest;
	OffsetNumber last;
	uint64 *visible;             /* n_words(last) of them; NULL: the page is clean */
};

struct table_key {
	Oid relation, file;          /* the file is another once the table was rewritten or emptied */
};

struct table_facts {
	struct table_key key;
	uint32 n_clean;              /* pages */
	uint32 n_groups;
	struct page_fact **groups;   /* NULL where nothing is known of one */
};

static MemoryContext known_context;
static HTAB *all_known;

static unsigned n_words(OffsetNumber last)
{
	return last / 64 + 1;
}

static struct table_facts *find_table(Relation heap)
{
	struct table_key key = { .relation = RelationGetRelid(heap), .file = heap->rd_rel->relfilenode };

	return all_known ? hash_search(all_known, &key, HASH_FIND, NULL) : NULL;
}

static void forget_all(void)
{
	HASHCTL control = { .keysize = sizeof(struct table_key), .entrysize = sizeof(struct table_facts) };

	all_known = NULL;
	if (known_context)
		MemoryContextReset(known_context);
	else
		known_context = AllocSetContextCreate(CacheMemoryContext, "iforest clean pages", ALLOCSET_DEFAULT_SIZES);
	control.hcxt = known_context;
	all_known = hash_create("iforest clean pages", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static struct table_facts *add_table(Relation heap)
{
	struct table_key key = { .relation = RelationGetRelid(heap), .file = heap->rd_rel->relfilenode };
	struct table_facts *table = hash_search(all_known, &key, HASH_ENTER, NULL);

	table->n_clean = table->n_groups = 0;
	table->groups = NULL;
	return table;
}

/* The group of that number, made if need be. */
static struct page_fact *add_group(struct table_facts *table, uint32 number)
{
	if (number >= table->n_groups) {
		uint32 n = Max(number + 1, 2 * table->n_groups);
		struct page_fact **groups =
			MemoryContextAllocExtended(known_context, n * sizeof *groups, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

		if (table->groups) {
			memcpy(groups, table->groups, table->n_groups * sizeof *groups);
			pfree(table->groups);
		}
		table->groups = groups;
		table->n_groups = n;
	}
	if (!table->groups[number])
		table->groups[number] = MemoryContextAllocZero(known_context, PAGES_A_GROUP * sizeof(struct page_fact));
	return table->groups[number];
}

static const struct page_fact *find_fact(Relation heap, BlockNumber block)
{
	const struct table_facts *table = find_table(heap);
	const struct page_fact *group =
		table && block / PAGES_A_GROUP < table->n_groups ? table->groups[block / PAGES_A_GROUP] : NULL;

	return group ? &group[block % PAGES_A_GROUP] : NULL;
}

bool iforest_lasting_recall(Relation heap, BlockNumber block, XLogRecPtr lsn, Snapshot snapshot, struct iforest_roots *roots)
{
	const struct page_fact *fact = find_fact(heap, block);

	if (!fact || fact->lsn == InvalidXLogRecPtr || fact->lsn != lsn || !RelationNeedsWAL(heap) ||
	    !IsMVCCSnapshot(snapshot) || !TransactionIdPrecedes(fact->newest, snapshot->xmin))
		return false;
	roots->are_clean = !fact->visible;
	roots->last = fact->last;
	if (fact->visible)
		memcpy(roots->visible, fact->visible, n_words(fact->last) * sizeof *fact->visible);
	return true;
}

void iforest_lasting_note(Relation heap, BlockNumber block, XLogRecPtr lsn, TransactionId newest,
			  const struct iforest_roots *roots)
{
	uint64 *visible = NULL;
	struct table_facts *table;
	struct page_fact *fact;

	if (lsn == InvalidXLogRecPtr || !RelationNeedsWAL(heap))
		return;
	if (!all_known || MemoryContextMemAllocated(known_context, true) > (Size)work_mem * 1024)
		forget_all();
	table = find_table(heap);
	if (!table)
		table = add_table(heap);
	fact = &add_group(table, block / PAGES_A_GROUP)[block % PAGES_A_GROUP];
	if (!roots->are_clean) {
		visible = MemoryContextAlloc(known_context, n_words(roots->last) * sizeof *visible);
		memcpy(visible, roots->visible, n_words(roots->last) * sizeof *visible);
	}
	table->n_clean -= fact->lsn != InvalidXLogRecPtr && !fact->visible;
	table->n_clean += roots->are_clean;
	if (fact->visible)
		pfree(fact->visible);
	*fact = (struct page_fact){ .lsn = lsn, .newest = newest, .last = roots->last, .visible = visible };
}

BlockNumber iforest_lasting_pages(Relation heap)
{
	const struct table_facts *table = find_table(heap);

	return table ? table->n_clean : 0;
}
