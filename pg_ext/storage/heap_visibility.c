#include "pg_ext/storage/lasting.h"
#include "pg_ext/storage/heap_visibility.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Pages that were appended are neighbours, so what is known of them stands together; those that were updated are not. */
enum { PAGES_A_GROUP = 8 };

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
	BlockNumber n_clean;         /* pages */
};

struct group_key {
	struct table_key table;
	BlockNumber number;
};

struct group {
	struct group_key key;
	struct page_fact *pages;
};

static MemoryContext known_context;
static HTAB *known_tables, *known_groups;

/* More pages than there is room for may be asked for again and again, in the same order: to forget the oldest would be to know
 * none of them when its turn comes. So what is known stays as long as every other look finds something, which is judged after
 * so many looks for each fact. */
enum { LOOKS_A_FACT = 4, LOOKS_A_FIND = 2 };

static struct {
	int work_mem;              /* when what is known was last begun with */
	uint64 facts;
	bool is_full;
	uint64 looks, found;       /* since it is full, or was last judged */
} use;

static unsigned n_words(OffsetNumber last)
{
	return last / 64 + 1;
}

static struct table_key key_of(Relation heap)
{
	return (struct table_key){ .relation = RelationGetRelid(heap), .file = heap->rd_rel->relfilenode };
}

static HTAB *make_table(Size key_bytes, Size entry_bytes)
{
	HASHCTL control = { .keysize = key_bytes, .entrysize = entry_bytes, .hcxt = known_context };

	return hash_create("iforest pages seen", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void forget_all(void)
{
	known_tables = known_groups = NULL;
	if (known_context)
		MemoryContextReset(known_context);
	else
		known_context = AllocSetContextCreate(CacheMemoryContext, "iforest pages seen", 0, 8 * 1024, 64 * 1024);
	known_tables = make_table(sizeof(struct table_key), sizeof(struct table_facts));
	known_groups = make_table(sizeof(struct group_key), sizeof(struct group));
	memset(&use, 0, sizeof use);
	use.work_mem = work_mem;
}

/* Where it is full, what is known is judged anew from then on. */
static bool is_of_use(void)
{
	bool is_judged = use.is_full, is_found = use.found * LOOKS_A_FIND >= use.looks;

	if (is_judged && use.looks < use.facts * LOOKS_A_FACT)
		return true;
	use.is_full = true;
	use.looks = use.found = 0;
	return !is_judged || is_found;
}

/* Room for something more, at the cost of all that is known if that is of no use any more. */
static bool make_room(void)
{
	bool is_full = known_groups && MemoryContextMemAllocated(known_context, true) > (Size)work_mem * 1024;

	if (!known_groups || (is_full && (work_mem < use.work_mem || !is_of_use()))) {
		forget_all();
		is_full = false;
	}
	return !is_full;
}

static struct group *find_group(Relation heap, BlockNumber block)
{
	struct group_key key = { .table = key_of(heap), .number = block / PAGES_A_GROUP };

	return known_groups ? hash_search(known_groups, &key, HASH_FIND, NULL) : NULL;
}

static struct table_facts *find_table(Relation heap)
{
	struct table_key key = key_of(heap);

	return known_groups ? hash_search(known_tables, &key, HASH_FIND, NULL) : NULL;
}

/* The fact of a page, and the table's, made if need be. */
static struct page_fact *fact_of(Relation heap, BlockNumber block, struct table_facts **table)
{
	struct group *group = find_group(heap, block);

	*table = find_table(heap);
	if (!*table) {
		struct table_key key = key_of(heap);

		*table = hash_search(known_tables, &key, HASH_ENTER, NULL);
		(*table)->n_clean = 0;
	}
	if (!group) {
		struct group_key key = { .table = key_of(heap), .number = block / PAGES_A_GROUP };
		struct page_fact *pages = MemoryContextAllocZero(known_context, PAGES_A_GROUP * sizeof *pages);

		group = hash_search(known_groups, &key, HASH_ENTER, NULL);
		group->pages = pages;
	}
	return &group->pages[block % PAGES_A_GROUP];
}

bool iforest_lasting_recall(Relation heap, BlockNumber block, XLogRecPtr lsn, Snapshot snapshot, struct iforest_roots *roots)
{
	const struct group *group = find_group(heap, block);
	const struct page_fact *fact = group ? &group->pages[block % PAGES_A_GROUP] : NULL;

	if (lsn == InvalidXLogRecPtr || !RelationNeedsWAL(heap) || !IsMVCCSnapshot(snapshot))
		return false;
	use.looks++;
	if (!fact || fact->lsn != lsn || !TransactionIdPrecedes(fact->newest, snapshot->xmin))
		return false;
	use.found++;
	roots->are_clean = !fact->visible;
	roots->last = fact->last;
	if (fact->visible)
		memcpy(roots->visible, fact->visible, n_words(fact->last) * sizeof *fact->visible);
	return true;
}

/* Can it be told of the page, n words of it, without more room? */
static bool has_room(const struct page_fact *fact, unsigned n)
{
	return fact && (n == 0 || (fact->visible && n_words(fact->last) >= n));
}

static void forget(struct table_facts *table, struct page_fact *fact)
{
	bool is_known = fact->lsn != InvalidXLogRecPtr;

	table->n_clean -= is_known && !fact->visible;
	use.facts -= is_known;
	fact->lsn = InvalidXLogRecPtr;
}

void iforest_lasting_note(Relation heap, BlockNumber block, XLogRecPtr lsn, TransactionId newest,
			  const struct iforest_roots *roots)
{
	unsigned n = roots->are_clean ? 0 : n_words(roots->last);
	struct group *group = find_group(heap, block);
	struct page_fact *fact = group ? &group->pages[block % PAGES_A_GROUP] : NULL;
	struct table_facts *table;
	uint64 *visible;

	if (lsn == InvalidXLogRecPtr || !RelationNeedsWAL(heap))
		return;
	if (!has_room(fact, n) && !make_room()) {
		if (fact)
			forget(find_table(heap), fact);
		return;
	}
	fact = fact_of(heap, block, &table);
	visible = has_room(fact, n) ? fact->visible : MemoryContextAlloc(known_context, n * sizeof *visible);
	forget(table, fact);
	if (fact->visible && (n == 0 || visible != fact->visible))
		pfree(fact->visible);
	if (n > 0)
		memcpy(visible, roots->visible, n * sizeof *visible);
	*fact = (struct page_fact){ .lsn = lsn, .newest = newest, .last = roots->last, .visible = n > 0 ? visible : NULL };
	use.facts++;
	table->n_clean += roots->are_clean;
}

BlockNumber iforest_lasting_pages(Relation heap, BlockNumber most)
{
	struct table_facts *table = find_table(heap);

	if (table && table->n_clean > most) {
		forget_all();
		return 0;
	}
	return table ? table->n_clean : 0;
}
