#include "pg_ext/am/reorder.h"

void iforest_reorder_start(struct iforest_reorder *reorder)
{
	reorder->first = reorder->n = 0;
	reorder->free = &reorder->entries[IFOREST_REORDERED];
	for (uint32 i = 0; i < IFOREST_REORDERED; i++)
		reorder->order[i] = &reorder->entries[i];
}

static struct iforest_entry **place(struct iforest_reorder *reorder, uint32 i)
{
	return &reorder->order[(reorder->first + i) % IFOREST_REORDERED];
}

const struct iforest_entry *iforest_reorder_rest(struct iforest_reorder *reorder)
{
	struct iforest_entry **first = place(reorder, 0), *entry = *first;

	if (reorder->n == 0)
		return NULL;
	*first = reorder->free;
	reorder->free = entry;
	reorder->first++;
	reorder->n--;
	return entry;
}

const struct iforest_entry *iforest_reorder_add(struct iforest_reorder *reorder, const struct iforest_entry *entry)
{
	struct iforest_entry *added = reorder->free;
	const struct iforest_entry *given = NULL;
	uint32 i;

	*added = *entry;
	if (reorder->n == IFOREST_REORDERED) {
		/* it may itself be the first */
		if (iforest_key_compare(&added->key, &(*place(reorder, 0))->key) < 0)
			return added;
		given = iforest_reorder_rest(reorder);
	} else {
		reorder->free = *place(reorder, reorder->n);
	}
	for (i = reorder->n; i > 0 && iforest_key_compare(&added->key, &(*place(reorder, i - 1))->key) < 0; i--)
		*place(reorder, i) = *place(reorder, i - 1);
	*place(reorder, i) = added;
	reorder->n++;
	return given;
}
