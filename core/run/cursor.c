#include "core/run/cursor.h"

#include "core/page/page_maxima.h"

void iforest_cursor_init(struct iforest_cursor *cursor, struct iforest_store *store, const struct iforest_manifest *manifest,
			 const struct iforest_run *run)
{
	cursor->store = store;
	cursor->manifest = manifest;
	cursor->run = run;
	cursor->top_level = run->n_levels;
	for (unsigned level = 0; level <= cursor->top_level; level++)
		cursor->path[level].is_pinned = false;
	cursor->reader_is_open = cursor->excerpt.is_there = false;
	cursor->n_users = NULL;
	cursor->leaf_number = 0;
	cursor->block = cursor->entry = 0;
	cursor->n_pages_opened = cursor->n_leaf_pages_opened = 0;
}

static void unpin(struct iforest_cursor *cursor, unsigned level)
{
	const struct iforest_pager *pager = cursor->store->pager;
	struct iforest_pinned_page *pinned = &cursor->path[level];

	if (!pinned->is_pinned)
		return;
	pinned->is_pinned = false;
	pager->release(pager->context, &pinned->page);
	if (level == 0)
		cursor->reader_is_open = false;
	if (level == 0 && cursor->n_users) {
		--*cursor->n_users;
		cursor->n_users = NULL;
	}
}

void iforest_cursor_release(struct iforest_cursor *cursor)
{
	for (unsigned level = 0; level <= cursor->top_level; level++)
		unpin(cursor, level);
	cursor->excerpt.is_there = false;
	cursor->leaf_number = 0;
	cursor->block = cursor->entry = 0;
}

enum iforest_status iforest_cursor_report_corrupt(struct iforest_cursor *cursor, enum iforest_status status, const char *what,
						  unsigned level, uint64_t number)
{
	cursor->store->fault =
		(struct iforest_fault){ .what = what, .run_id = cursor->run->place.run_id, .level = level, .number = number };
	return status;
}

uint64_t iforest_cursor_page_index(const struct iforest_cursor *cursor, unsigned level, uint64_t number)
{
	const struct iforest_pinned_page *row = &cursor->path[1];
	uint64_t fanout = cursor->manifest->fanout;

	if (level == 0 && row->is_pinned && number >= row->number * fanout && number - row->number * fanout < fanout)
		return number + row->n_between;
	return iforest_run_page_index(cursor->manifest, cursor->run, level, number);
}

void iforest_cursor_prefetch(const struct iforest_cursor *cursor, unsigned level, uint64_t number, bool of_maxima)
{
	const struct iforest_pager *pager = cursor->store->pager;

	if (pager->prefetch && !(cursor->path[level].is_pinned && cursor->path[level].number == number))
		pager->prefetch(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, level, number),
				of_maxima);
}

/* Reads a page and checks it; releases it if that fails. */
static enum iforest_status open_page(struct iforest_cursor *cursor, unsigned level, uint64_t number, bool is_brief,
				     struct iforest_page *page, struct iforest_leaf *leaf, struct iforest_page_header *header)
{
	const struct iforest_pager *pager = cursor->store->pager;
	const struct iforest_run *run = cursor->run;
	const char *what = "the page is missing";
	uint32_t n_bytes;
	bool is_checked;
	enum iforest_status status;

	cursor->n_pages_opened++;
	cursor->n_leaf_pages_opened += level == 0;
	status = (is_brief ? pager->pin_briefly : pager->get)(pager->context, &run->place,
							      iforest_cursor_page_index(cursor, level, number), page);
	if (status)
		return status == IFOREST_CORRUPT ? iforest_cursor_report_corrupt(cursor, status, what, level, number) : status;
	is_checked = page->is_checked && *page->is_checked;
	/* a page that claims to be longer than the index's page size would overflow the buffer to which removal copies it */
	n_bytes = page->n_bytes < cursor->manifest->page_bytes ? page->n_bytes : cursor->manifest->page_bytes;
	if (level == 0)
		status = iforest_leaf_open(leaf, &cursor->manifest->fields, page->bytes, n_bytes, run->place.run_id,
					   (uint32_t)number, is_checked, &what);
	else
		status = iforest_node_page_check(page->bytes, n_bytes, &cursor->manifest->fields, run->place.run_id, level,
						 (uint32_t)number, is_checked, header, &what);
	if (status) {
		(is_brief ? pager->unpin_brief : pager->release)(pager->context, page);
		return iforest_cursor_report_corrupt(cursor, status, what, level, number);
	}
	if (page->is_checked)
		*page->is_checked = true;
	return IFOREST_OK;
}

enum iforest_status iforest_cursor_replace(struct iforest_cursor *cursor, unsigned level, uint64_t number)
{
	struct iforest_pinned_page *pinned = &cursor->path[level];
	enum iforest_status status;

	if (level == 0 && number >= cursor->run->n_leaves)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     number / cursor->manifest->fanout);
	unpin(cursor, level);
	if (level == 0)
		cursor->excerpt.is_there = false;
	status = open_page(cursor, level, number, false, &pinned->page, &cursor->leaf, &pinned->header);
	pinned->is_pinned = !status;
	pinned->number = number;
	pinned->opening = cursor->n_pages_opened;
	if (level == 1)
		pinned->n_between =
			iforest_run_page_index(cursor->manifest, cursor->run, 0, number * cursor->manifest->fanout) -
			number * cursor->manifest->fanout;
	return status;
}

enum iforest_status iforest_cursor_pin_briefly(struct iforest_cursor *cursor, uint64_t number, struct iforest_page *page,
					       struct iforest_leaf *leaf)
{
	enum iforest_status status;

	if (cursor->store->pager->pin_briefly && !(cursor->path[0].is_pinned && cursor->path[0].number == number))
		return open_page(cursor, 0, number, true, page, leaf, NULL);
	status = iforest_cursor_pin(cursor, 0, number);
	page->bytes = NULL;
	*leaf = cursor->leaf;
	return status;
}

void iforest_cursor_unpin_brief(struct iforest_cursor *cursor, struct iforest_page *page)
{
	const struct iforest_pager *pager = cursor->store->pager;

	if (page->bytes)
		pager->unpin_brief(pager->context, page);
}

enum iforest_status iforest_cursor_report_leaf(struct iforest_cursor *cursor, enum iforest_status status)
{
	return status ? iforest_cursor_report_corrupt(cursor, status, "a packed column is wrong", 0, cursor->path[0].number)
		      : status;
}

enum iforest_status iforest_cursor_seek_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t **bytes)
{
	uint64_t number = i / cursor->manifest->fanout, k = i % cursor->manifest->fanout;
	enum iforest_status status;

	if (level > cursor->run->n_levels) {
		*bytes = cursor->run->root;
		return IFOREST_OK;
	}
	status = iforest_cursor_pin(cursor, level, number);
	if (!status && k >= cursor->path[level].header.n_items)
		status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too few nodes", level, number);
	if (!status)
		*bytes = iforest_cursor_sibling(cursor, level, (unsigned)k);
	return status;
}

void iforest_cursor_read_block(struct iforest_cursor *cursor, unsigned block)
{
	if (cursor->reader_is_open && cursor->reader.number == block)
		return;
	iforest_block_start(&cursor->reader, &cursor->leaf, block);
	cursor->reader_is_open = true;
}

enum iforest_status iforest_cursor_find_in_block(struct iforest_cursor *cursor, unsigned block, const struct iforest_key *from,
						 const struct iforest_key *to, unsigned *first, unsigned *end)
{
	struct iforest_block_info info = iforest_leaf_block(&cursor->leaf, block);
	bool is_last = block + 1u == cursor->leaf.header.n_items;
	struct iforest_key next = is_last ? *to : iforest_leaf_block(&cursor->leaf, block + 1).first;
	enum iforest_status status = IFOREST_OK;

	*first = *end = 0;
	if (iforest_key_compare(&info.first, to) >= 0 || (!is_last && iforest_key_compare(&next, from) <= 0))
		return IFOREST_OK;
	iforest_cursor_read_block(cursor, block);
	*end = info.n;
	if (iforest_key_compare(&info.first, from) < 0)
		status = iforest_block_find(&cursor->reader, from, first);
	if (!status && iforest_key_compare(&next, to) >= 0)
		status = iforest_block_find(&cursor->reader, to, end);
	return iforest_cursor_report_leaf(cursor, status);
}

/* ---- Position ---- */

bool iforest_cursor_leaf_has(const struct iforest_cursor *cursor, const struct iforest_key *from, const struct iforest_key *to)
{
	const struct iforest_page_maxima *maxima = cursor->path[0].is_pinned ? cursor->path[0].page.maxima : NULL;

	return maxima && iforest_page_maxima_are_there(maxima) && maxima->series == from->series &&
	       maxima->series == to->series && !from->time_is_null && !to->time_is_null && from->ref == INT64_MIN &&
	       to->ref == INT64_MIN && maxima->blocks[0].first_time < from->time && to->time <= maxima->last_time;
}

enum iforest_status iforest_cursor_find_in_leaf(struct iforest_cursor *cursor, const struct iforest_key *key, unsigned *block,
						unsigned *entry)
{
	enum iforest_status status;

	*block = iforest_leaf_find_block(&cursor->leaf, key);
	iforest_cursor_read_block(cursor, *block);
	status = iforest_cursor_report_leaf(cursor, iforest_block_find(&cursor->reader, key, entry));
	if (!status && *entry == cursor->reader.block.n) {
		*entry = 0;
		++*block;
	}
	return status;
}

/* Finds the leaf page in which a key belongs, and pins the node pages above it. */
static enum iforest_status find_leaf(struct iforest_cursor *cursor, const struct iforest_key *key, uint64_t *number)
{
	*number = 0;
	if (iforest_cursor_leaf_has(cursor, key, key)) {
		*number = cursor->path[0].number;
		return IFOREST_OK;
	}
	for (unsigned level = cursor->run->n_levels; level > 0; level--) {
		enum iforest_status status = iforest_cursor_pin(cursor, level, *number);

		if (status)
			return status;
		*number = *number * cursor->manifest->fanout +
			  iforest_cursor_bisect_nodes(cursor, level, 0, cursor->path[level].header.n_items, key, true);
	}
	return IFOREST_OK;
}

/* Finds the key in a leaf page, and moves there. */
static enum iforest_status seek_in_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_key *key)
{
	unsigned block, entry;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, number);

	if (!status)
		status = iforest_cursor_find_in_leaf(cursor, key, &block, &entry);
	if (status)
		return status;
	if (block == cursor->leaf.header.n_items)
		iforest_cursor_stand_at(cursor, number + 1, 0, 0);
	else
		iforest_cursor_stand_at(cursor, number, block, entry);
	return IFOREST_OK;
}

enum iforest_status iforest_cursor_seek(struct iforest_cursor *cursor, const struct iforest_key *key)
{
	uint64_t number;
	enum iforest_status status = find_leaf(cursor, key, &number);

	return status ? status : seek_in_leaf(cursor, number, key);
}

bool iforest_cursor_stand_in_excerpt(struct iforest_cursor *cursor, unsigned entry)
{
	unsigned next = cursor->block + 1 - cursor->excerpt.first;

	if (entry < cursor->reader.block.n) {
		cursor->entry = entry;
		return false;
	}
	if (next < cursor->excerpt.leaf.header.n_items) {
		iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block + 1, 0);
		iforest_block_start(&cursor->reader, &cursor->excerpt.leaf, next);
		return true;
	}
	if (cursor->excerpt.is_last)
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	else
		iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block + 1, 0);
	return false;
}

/* Copies the blocks of a leaf page that may have entries in [key, to), if they are few.
 * Requires  excerpt.next is what follows if they end with the page. */
static enum iforest_status copy_excerpt(struct iforest_cursor *cursor, uint64_t number, const struct iforest_key *key,
					const struct iforest_key *to)
{
	struct iforest_page page;
	struct iforest_leaf leaf;
	unsigned first, end;
	enum iforest_status status = iforest_cursor_pin_briefly(cursor, number, &page, &leaf);

	if (status)
		return status;
	first = iforest_leaf_find_block(&leaf, key);
	/* a block has one series */
	if (first + 1u < leaf.header.n_items && iforest_leaf_block(&leaf, first).first.series != key->series)
		first++;
	end = iforest_leaf_find_block_from(&leaf, first, to) + 1;
	cursor->excerpt.is_last = end == leaf.header.n_items;
	if (!cursor->excerpt.is_last)
		cursor->excerpt.next = iforest_leaf_block(&leaf, end).first;
	cursor->excerpt.next.ref = INT64_MIN;
	cursor->excerpt.leaf_number = number;
	cursor->excerpt.first = first;
	cursor->excerpt.is_there = iforest_leaf_copy_blocks(&leaf, first, end, &cursor->excerpt.leaf, cursor->excerpt.bytes,
							    IFOREST_EXCERPT_BYTES);
	iforest_cursor_unpin_brief(cursor, &page);
	return IFOREST_OK;
}

/* True if, by the node pages that find_leaf() has pinned, the entries before `to` end in a leaf page. *next: the first key of the
 * next leaf page, or the last of this one, which then is not before `to`. */
static bool ends_in_leaf(const struct iforest_cursor *cursor, uint64_t number, const struct iforest_key *to,
			 struct iforest_key *next)
{
	const struct iforest_pinned_page *nodes = &cursor->path[1];
	unsigned k = (unsigned)(number % cursor->manifest->fanout);

	if (k + 1 < nodes->header.n_items)
		*next = iforest_node_first(iforest_cursor_sibling(cursor, 1, k + 1));
	else
		*next = iforest_node_last(iforest_cursor_sibling(cursor, 1, k));
	return iforest_key_compare(next, to) >= 0;
}

enum iforest_status iforest_cursor_seek_before(struct iforest_cursor *cursor, const struct iforest_key *key,
					       const struct iforest_key *to)
{
	const struct iforest_pinned_page *leaf = &cursor->path[0];
	uint64_t number;
	unsigned entry;
	enum iforest_status status = find_leaf(cursor, key, &number);

	cursor->excerpt.is_there = false;
	if (status || !cursor->store->pager->pin_briefly || (leaf->is_pinned && leaf->number == number) ||
	    !ends_in_leaf(cursor, number, to, &cursor->excerpt.next))
		return status ? status : seek_in_leaf(cursor, number, key);
	unpin(cursor, 0);
	status = copy_excerpt(cursor, number, key, to);
	if (status || !cursor->excerpt.is_there)
		return status ? status : seek_in_leaf(cursor, number, key);
	iforest_cursor_stand_at(cursor, number, cursor->excerpt.first, 0);
	iforest_block_start(&cursor->reader, &cursor->excerpt.leaf, 0);
	status = iforest_block_find(&cursor->reader, key, &entry);
	if (status)
		return iforest_cursor_report_corrupt(cursor, status, "a packed column is wrong", 0, number);
	(void)iforest_cursor_stand_in_excerpt(cursor, entry);
	return IFOREST_OK;
}

enum iforest_status iforest_cursor_key(struct iforest_cursor *cursor, struct iforest_key *key, bool *at_end)
{
	const struct iforest_block *block = &cursor->reader.block;
	const uint8_t *node;
	enum iforest_status status;

	*at_end = cursor->leaf_number == cursor->run->n_leaves;
	if (*at_end)
		return IFOREST_OK;
	if (cursor->block == 0 && cursor->entry == 0) {
		status = iforest_cursor_node(cursor, 1, cursor->leaf_number, &node);
		if (!status)
			*key = iforest_node_first(node);
	} else {
		status = iforest_cursor_pin(cursor, 0, cursor->leaf_number);
		if (status)
			return status;
		iforest_cursor_read_block(cursor, cursor->block);
		*key = (struct iforest_key){ .series = block->series, .time_is_null = block->time_is_null };
		status = iforest_cursor_report_leaf(cursor, iforest_block_pick(&cursor->reader, IFOREST_TIMES, cursor->entry,
									       &key->time));
	}
	key->ref = INT64_MIN;
	return status;
}

/* ---- Steps ---- */

enum iforest_status iforest_cursor_block(struct iforest_cursor *cursor, uint32_t columns, const struct iforest_block **block)
{
	enum iforest_status status;

	*block = NULL;
	if (cursor->leaf_number == cursor->run->n_leaves)
		return IFOREST_OK;
	status = iforest_cursor_pin(cursor, 0, cursor->leaf_number);
	if (status)
		return status;
	iforest_cursor_read_block(cursor, cursor->block);
	for (unsigned column = 0; columns >> column && !status; column++)
		if (columns >> column & 1)
			status = iforest_cursor_report_leaf(cursor, iforest_block_need(&cursor->reader, column));
	if (!status)
		*block = &cursor->reader.block;
	return status;
}

enum iforest_status iforest_cursor_next(struct iforest_cursor *cursor)
{
	enum iforest_status status;

	if (cursor->leaf_number == cursor->run->n_leaves)
		return IFOREST_OK;
	status = iforest_cursor_pin(cursor, 0, cursor->leaf_number);
	if (status)
		return status;
	if (cursor->block + 1 < cursor->leaf.header.n_items)
		iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block + 1, 0);
	else
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	return IFOREST_OK;
}

enum iforest_status iforest_cursor_previous(struct iforest_cursor *cursor, bool *at_start)
{
	enum iforest_status status;

	*at_start = cursor->block == 0 && cursor->leaf_number == 0;
	if (*at_start)
		return IFOREST_OK;
	if (cursor->block > 0) {
		iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block - 1, 0);
		return IFOREST_OK;
	}
	status = iforest_cursor_pin(cursor, 0, cursor->leaf_number - 1);
	if (!status)
		iforest_cursor_stand_at(cursor, cursor->leaf_number - 1, cursor->leaf.header.n_items - 1u, 0);
	return status;
}

/* Sets *dead if node i of the level has no live entries. */
static enum iforest_status is_dead(struct iforest_cursor *cursor, unsigned level, uint64_t i, bool *dead)
{
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(cursor, level, i, &node);

	if (!status)
		*dead = iforest_node_rows(node) == 0;
	return status;
}

enum iforest_status iforest_cursor_pass_dead(struct iforest_cursor *cursor)
{
	uint64_t fanout = cursor->manifest->fanout, n_leaves = cursor->run->n_leaves;
	bool dead = cursor->block == 0 && cursor->entry == 0 && !cursor->run->removal_in_progress;

	while (dead && cursor->leaf_number < n_leaves) {
		uint64_t i = cursor->leaf_number, n_below = 1;
		unsigned level = 1;
		enum iforest_status status;

		/* try the largest node that begins here first */
		for (; level <= cursor->run->n_levels && i % fanout == 0; level++) {
			i /= fanout;
			n_below *= fanout;
		}
		status = is_dead(cursor, level, i, &dead);
		while (!status && !dead && level > 1) {
			level--;
			i *= fanout;
			n_below /= fanout;
			status = is_dead(cursor, level, i, &dead);
		}
		if (status)
			return status;
		n_below += cursor->leaf_number;
		if (dead)
			iforest_cursor_stand_at(cursor, n_below < n_leaves ? n_below : n_leaves, 0, 0);
	}
	return IFOREST_OK;
}
