#include "core/manifest.h"

#include "core/bits.h"
#include "core/layout.h"

enum { MAGIC = 0x666d4649, VERSION = 1, HEADER = 32, RUN_BYTES = 32, REMOVAL_IN_PROGRESS = 1 };

static enum iforest_status check_sizes(struct iforest_manifest *manifest)
{
	if (manifest->page_bytes < IFOREST_MIN_PAGE_BYTES || manifest->page_bytes > IFOREST_MAX_PAGE_BYTES)
		return IFOREST_ARGUMENT;
	manifest->fanout = iforest_fanout(&manifest->fields, manifest->page_bytes);
	return manifest->fanout < 2 ? IFOREST_ARGUMENT : IFOREST_OK;
}

enum iforest_status iforest_manifest_init(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const struct iforest_fields *fields, uint32_t page_bytes)
{
	*manifest = (struct iforest_manifest){ .alloc = alloc, .page_bytes = page_bytes, .fields = *fields };
	return check_sizes(manifest);
}

void iforest_manifest_release(struct iforest_manifest *manifest)
{
	if (!manifest->alloc)
		return;
	iforest_release(manifest->alloc, manifest->host_bytes);
	iforest_release(manifest->alloc, manifest->runs);
	*manifest = (struct iforest_manifest){ .alloc = NULL };
}

static enum iforest_status reserve_runs(struct iforest_manifest *manifest, uint32_t n_runs)
{
	uint32_t n_wanted = n_runs > 2 * manifest->n_reserved ? n_runs : 2 * manifest->n_reserved;
	struct iforest_run *runs;

	if (n_runs > IFOREST_MAX_RUNS)
		return IFOREST_TOO_LARGE;
	if (n_runs <= manifest->n_reserved)
		return IFOREST_OK;
	runs = manifest->alloc->reallocate(manifest->alloc->context, manifest->runs, n_wanted * sizeof *runs);
	if (!runs)
		return IFOREST_NO_MEMORY;
	manifest->runs = runs;
	manifest->n_reserved = n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_manifest_add(struct iforest_manifest *manifest, const struct iforest_run *run)
{
	enum iforest_status status = reserve_runs(manifest, manifest->n_runs + 1);

	if (!status)
		manifest->runs[manifest->n_runs++] = *run;
	return status;
}

void iforest_manifest_remove(struct iforest_manifest *manifest, uint32_t r)
{
	manifest->n_runs--;
	memmove(&manifest->runs[r], &manifest->runs[r + 1], (manifest->n_runs - r) * sizeof *manifest->runs);
}

uint32_t iforest_manifest_find(const struct iforest_manifest *manifest, uint64_t run_id)
{
	uint32_t r = 0;

	while (r < manifest->n_runs && manifest->runs[r].place.run_id != run_id)
		r++;
	return r;
}

uint64_t iforest_run_pages(const struct iforest_manifest *manifest, const struct iforest_run *run)
{
	return iforest_pages_total(run->n_leaves, manifest->fanout);
}

uint64_t iforest_run_page_index(const struct iforest_manifest *manifest, const struct iforest_run *run, unsigned level,
				uint64_t number)
{
	return iforest_page_index(run->n_leaves, level, number, manifest->fanout);
}

/* ---- bytes ---- */

static void write_run(const struct iforest_manifest *manifest, const struct iforest_run *run, uint8_t *bytes)
{
	iforest_store64(bytes, run->place.run_id);
	iforest_store64(bytes + 8, run->place.generation);
	iforest_store64(bytes + 16, run->place.location);
	iforest_store32(bytes + 24, run->n_leaves);
	iforest_store32(bytes + 28, run->removal_in_progress ? REMOVAL_IN_PROGRESS : 0);
	memcpy(bytes + RUN_BYTES, run->root, manifest->fields.node_bytes);
}

enum iforest_status iforest_manifest_publish(struct iforest_manifest *manifest, struct iforest_store *store)
{
	uint32_t run_bytes = RUN_BYTES + manifest->fields.node_bytes;
	uint32_t n_most = HEADER + 1 + 2 * IFOREST_MAX_FIELDS + 4 + manifest->n_host_bytes + manifest->n_runs * run_bytes;
	uint64_t id = iforest_random63(store);
	uint8_t *bytes, *out;
	uint32_t n_bytes;
	enum iforest_status status;

	if (manifest->n_host_bytes > IFOREST_MAX_HOST_BYTES)
		return IFOREST_TOO_LARGE;
	bytes = iforest_allocate(store->alloc, n_most);
	if (!bytes)
		return IFOREST_NO_MEMORY;
	out = bytes + HEADER;
	out += iforest_fields_write(&manifest->fields, out);
	iforest_store32(out, manifest->n_host_bytes);
	out += 4;
	if (manifest->n_host_bytes)
		memcpy(out, manifest->host_bytes, manifest->n_host_bytes);
	out += manifest->n_host_bytes;
	for (uint32_t r = 0; r < manifest->n_runs; r++, out += run_bytes)
		write_run(manifest, &manifest->runs[r], out);
	n_bytes = (uint32_t)(out - bytes);

	iforest_store32(bytes, MAGIC);
	iforest_store16(bytes + 8, VERSION);
	iforest_store16(bytes + 10, 0);
	iforest_store32(bytes + 12, n_bytes);
	iforest_store64(bytes + 16, id);
	iforest_store32(bytes + 24, manifest->page_bytes);
	iforest_store32(bytes + 28, manifest->n_runs);
	iforest_store32(bytes + 4, (uint32_t)iforest_checksum64(bytes + 8, n_bytes - 8));
	status = store->pager->publish(store->pager->context, bytes, n_bytes);
	if (!status)
		manifest->id = id;
	iforest_release(store->alloc, bytes);
	return status;
}

static enum iforest_status check_header(const uint8_t *bytes, uint32_t n_bytes, const char **what)
{
	*what = "the manifest is cut short";
	if (n_bytes < HEADER + 1)
		return IFOREST_CORRUPT;
	*what = "the manifest's magic is wrong";
	if (iforest_load32(bytes) != MAGIC)
		return IFOREST_CORRUPT;
	*what = "the manifest's length is wrong";
	if (iforest_load32(bytes + 12) != n_bytes)
		return IFOREST_CORRUPT;
	*what = "the manifest's checksum is wrong";
	if (iforest_load32(bytes + 4) != (uint32_t)iforest_checksum64(bytes + 8, n_bytes - 8))
		return IFOREST_CORRUPT;
	*what = "the manifest's format version is unknown";
	return iforest_load16(bytes + 8) == VERSION && iforest_load16(bytes + 10) == 0 ? IFOREST_OK : IFOREST_FORMAT;
}

static enum iforest_status read_host_bytes(struct iforest_manifest *manifest, const uint8_t **at, const uint8_t *end)
{
	uint32_t n_bytes;

	if (end - *at < 4)
		return IFOREST_CORRUPT;
	n_bytes = iforest_load32(*at);
	*at += 4;
	if ((size_t)(end - *at) < n_bytes)
		return IFOREST_CORRUPT;
	manifest->host_bytes = iforest_allocate(manifest->alloc, n_bytes);
	if (!manifest->host_bytes)
		return IFOREST_NO_MEMORY;
	memcpy(manifest->host_bytes, *at, n_bytes);
	manifest->n_host_bytes = n_bytes;
	*at += n_bytes;
	return IFOREST_OK;
}

static enum iforest_status read_runs(struct iforest_manifest *manifest, const uint8_t *at, const uint8_t *end, uint32_t n_runs)
{
	uint32_t run_bytes = RUN_BYTES + manifest->fields.node_bytes;
	enum iforest_status status = IFOREST_OK;

	if (n_runs > IFOREST_MAX_RUNS || (size_t)(end - at) != (size_t)n_runs * run_bytes)
		return IFOREST_CORRUPT;
	for (uint32_t r = 0; r < n_runs && !status; r++, at += run_bytes) {
		struct iforest_run run = {
			.place = { .run_id = iforest_load64(at), .generation = iforest_load64(at + 8),
				   .location = iforest_load64(at + 16) },
			.n_leaves = iforest_load32(at + 24),
			.removal_in_progress = iforest_load32(at + 28) & REMOVAL_IN_PROGRESS,
		};

		if (iforest_load32(at + 28) & ~(uint32_t)REMOVAL_IN_PROGRESS)
			return IFOREST_FORMAT;

		run.n_levels = iforest_node_levels(run.n_leaves, manifest->fanout);
		memcpy(run.root, at + RUN_BYTES, manifest->fields.node_bytes);
		status = run.n_leaves ? iforest_manifest_add(manifest, &run) : IFOREST_CORRUPT;
	}
	return status;
}

enum iforest_status iforest_manifest_read(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const uint8_t *bytes, uint32_t n_bytes, const char **what)
{
	enum iforest_status status = check_header(bytes, n_bytes, what);
	const uint8_t *at = bytes + HEADER, *end = bytes + n_bytes;
	uint32_t n_read;

	*manifest = (struct iforest_manifest){ .alloc = alloc };
	if (status)
		return status;
	manifest->id = iforest_load64(bytes + 16);
	manifest->page_bytes = iforest_load32(bytes + 24);
	*what = "the manifest's field list is wrong";
	status = iforest_fields_parse(&manifest->fields, at, (uint32_t)(end - at), &n_read);
	if (!status && check_sizes(manifest))
		status = IFOREST_CORRUPT;
	if (!status) {
		at += n_read;
		*what = "the manifest's engine data are wrong";
		status = read_host_bytes(manifest, &at, end);
	}
	if (!status) {
		*what = "the manifest's list of runs is wrong";
		status = read_runs(manifest, at, end, iforest_load32(bytes + 28));
	}
	if (status)
		iforest_manifest_release(manifest);
	return status;
}
