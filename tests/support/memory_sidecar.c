#include "tests/support/memory_sidecar.h"

#include <string.h>

#include "tests/support/harness.h"

/* Returns the number of the entry with that name, whatever its n_dead; sidecar->n if there is none. */
static unsigned find(const struct memory_sidecar *sidecar, const struct iforest_sidecar_name *name)
{
	unsigned k = 0;

	for (; k < sidecar->n; k++) {
		const struct iforest_sidecar_name *other = &sidecar->kept[k].name;

		if (other->run_id == name->run_id && other->level == name->level && other->number == name->number &&
		    other->value == name->value)
			break;
	}
	return k;
}

static enum iforest_status has(void *context, const struct iforest_sidecar_name *name, bool *found)
{
	const struct memory_sidecar *sidecar = context;
	unsigned k = find(sidecar, name);

	*found = k < sidecar->n && sidecar->kept[k].name.n_dead == name->n_dead;
	return IFOREST_OK;
}

static enum iforest_status get(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
			       bool *found)
{
	struct memory_sidecar *sidecar = context;
	unsigned k = find(sidecar, name);

	has(context, name, found);
	sidecar->n_asked++;
	if (!*found)
		return IFOREST_OK;
	*n_bytes = sidecar->kept[k].n_bytes;
	*bytes = iforest_allocate(sidecar->alloc, *n_bytes);
	if (!*bytes)
		return IFOREST_NO_MEMORY;
	memcpy(*bytes, sidecar->kept[k].bytes, *n_bytes);
	sidecar->n_got++;
	return IFOREST_OK;
}

static enum iforest_status put(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes, size_t n_bytes)
{
	struct memory_sidecar *sidecar = context;
	unsigned k = find(sidecar, name);
	uint8_t *copy = iforest_allocate(sidecar->alloc, n_bytes);

	assert_true(name->level >= 2);
	if (!copy)
		return IFOREST_NO_MEMORY;
	memcpy(copy, bytes, n_bytes);
	if (k == sidecar->n)
		assert_true(sidecar->n++ < MEMORY_SIDECAR_MOST);
	else
		iforest_release(sidecar->alloc, sidecar->kept[k].bytes);
	sidecar->kept[k].name = *name;
	sidecar->kept[k].bytes = copy;
	sidecar->kept[k].n_bytes = n_bytes;
	sidecar->n_put++;
	return IFOREST_OK;
}

void memory_sidecar_start(struct memory_sidecar *sidecar, const struct iforest_alloc *alloc)
{
	sidecar->base = (struct iforest_sidecar){ .context = sidecar, .has = has, .get = get, .put = put };
	sidecar->alloc = alloc;
	sidecar->n = sidecar->n_asked = sidecar->n_got = sidecar->n_put = 0;
}

void memory_sidecar_clear(struct memory_sidecar *sidecar)
{
	for (unsigned k = 0; k < sidecar->n; k++)
		iforest_release(sidecar->alloc, sidecar->kept[k].bytes);
	sidecar->n = sidecar->n_asked = sidecar->n_got = sidecar->n_put = 0;
}

size_t memory_sidecar_bytes(const struct memory_sidecar *sidecar)
{
	size_t n_bytes = 0;

	for (unsigned k = 0; k < sidecar->n; k++)
		n_bytes += sidecar->kept[k].n_bytes;
	return n_bytes;
}
