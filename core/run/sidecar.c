#include "core/run/sidecar.h"

#include <string.h>

static enum iforest_status has_none(void *context, const struct iforest_sidecar_name *name, bool *found)
{
	(void)context;
	(void)name;
	*found = false;
	return IFOREST_OK;
}

static enum iforest_status get_none(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				    bool *found)
{
	*bytes = NULL;
	*n_bytes = 0;
	return has_none(context, name, found);
}

static enum iforest_status compare(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes, size_t n_bytes)
{
	const struct iforest_sidecar_comparison *comparison = context;
	const struct iforest_sidecar *kept = comparison->kept;
	uint8_t *others;
	size_t n_others;
	bool found, is_same;
	enum iforest_status status = kept->get(kept->context, name, &others, &n_others, &found);

	if (status || !found)
		return status;
	is_same = n_others == n_bytes && memcmp(others, bytes, n_bytes) == 0;
	iforest_release(comparison->store->alloc, others);
	if (is_same)
		return IFOREST_OK;
	comparison->store->fault = (struct iforest_fault){
		.what = comparison->what, .run_id = name->run_id, .level = name->level - 1, .number = name->number
	};
	return IFOREST_CORRUPT;
}

struct iforest_sidecar iforest_sidecar_comparing(struct iforest_sidecar_comparison *comparison)
{
	return (struct iforest_sidecar){ .context = comparison, .has = has_none, .get = get_none, .put = compare };
}
