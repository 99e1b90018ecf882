#include "tests/support/memory_sidecar.h"

#include <string.h>

#include "tests/support/harness.h"

/* Its number, or shelf->n, whatever n_dead is. */
static unsigned find(const struct memory_shelf *shelf, const struct iforest_sidecar_name *name)
{
	unsigned k = 0;

	for (; k < shelf->n; k++) {
		const struct iforest_sidecar_name *other = &shelf->kept[k].name;

		if (other->run_id == name->run_id && other->level == name->level && other->number == name->number &&
		    other->value == name->value)
			break;
	}
	return k;
}

static enum iforest_status has(void *context, const struct iforest_sidecar_name *name, bool *found)
{
	const struct memory_shelf *shelf = context;
	unsigned k = find(shelf, name);

	*found = k < shelf->n && shelf->kept[k].name.n_dead == name->n_dead;
	return IFOREST_OK;
}

static enum iforest_status get(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
			       bool *found)
{
	struct memory_shelf *shelf = context;
	unsigned k = find(shelf, name);

	has(context, name, found);
	shelf->n_asked++;
	if (!*found)
		return IFOREST_OK;
	*n_bytes = shelf->kept[k].n_bytes;
	*bytes = iforest_allocate(shelf->alloc, *n_bytes);
	if (!*bytes)
		return IFOREST_NO_MEMORY;
	memcpy(*bytes, shelf->kept[k].bytes, *n_bytes);
	shelf->n_got++;
	return IFOREST_OK;
}

static enum iforest_status put(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes, size_t n_bytes)
{
	struct memory_shelf *shelf = context;
	unsigned k = find(shelf, name);
	uint8_t *copy = iforest_allocate(shelf->alloc, n_bytes);

	assert_true(name->level >= 2);
	if (!copy)
		return IFOREST_NO_MEMORY;
	memcpy(copy, bytes, n_bytes);
	if (k == shelf->n)
		assert_true(shelf->n++ < MEMORY_SHELF_MOST);
	else
		iforest_release(shelf->alloc, shelf->kept[k].bytes);
	shelf->kept[k].name = *name;
	shelf->kept[k].bytes = copy;
	shelf->kept[k].n_bytes = n_bytes;
	shelf->n_put++;
	return IFOREST_OK;
}

void memory_shelf_start(struct memory_shelf *shelf, const struct iforest_alloc *alloc)
{
	shelf->base = (struct iforest_sidecar){ .context = shelf, .has = has, .get = get, .put = put };
	shelf->alloc = alloc;
	shelf->n = shelf->n_asked = shelf->n_got = shelf->n_put = 0;
}

void memory_shelf_clear(struct memory_shelf *shelf)
{
	for (unsigned k = 0; k < shelf->n; k++)
		iforest_release(shelf->alloc, shelf->kept[k].bytes);
	shelf->n = shelf->n_asked = shelf->n_got = shelf->n_put = 0;
}

size_t memory_shelf_bytes(const struct memory_shelf *shelf)
{
	size_t n_bytes = 0;

	for (unsigned k = 0; k < shelf->n; k++)
		n_bytes += shelf->kept[k].n_bytes;
	return n_bytes;
}
