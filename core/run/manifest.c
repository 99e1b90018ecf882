#include "core/run/manifest.h"

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/base/xxh64.h"

enum { MAGIC = 0x666d4649, VERSION = 1, REMOVAL_IN_PROGRESS = 1 };

static enum iforest_status check_sizes(struct iforest_manifest *manifest)
{
	if (manifest->page_bytes < IFOREST_MIN_PAGE_BYTES || manifest->page_bytes > IFOREST_MAX_PAGE_BYTES)
		return IFOREST_ARGUMENT;
	manifest->fanout = iforest_fanout(&manifest->fields, manifest->page_bytes);
	return manifest->fanout < 2 ? IFOREST_ARGUMENT : IFOREST_OK;
}

enum iforest_status iforest_manifest_init(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const struct iforest_node_schema *fields, uint32_t page_bytes)
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

/* Copies only the used part of the root, which has room for the largest possible node. */
static void copy_run(struct iforest_run *copy, const struct iforest_run *run, unsigned node_bytes)
{
	memcpy(copy, run, offsetof(struct iforest_run, root) + node_bytes);
}

enum iforest_status iforest_manifest_copy(struct iforest_manifest *copy, const struct iforest_alloc *alloc,
					  const struct iforest_manifest *manifest)
{
	*copy = *manifest;
	copy->alloc = alloc;
	copy->host_bytes = iforest_allocate(alloc, manifest->n_host_bytes);
	copy->runs = iforest_allocate(alloc, manifest->n_runs * sizeof *copy->runs);
	if (!copy->host_bytes || !copy->runs) {
		iforest_manifest_release(copy);
		return IFOREST_NO_MEMORY;
	}
	if (manifest->n_host_bytes)
		memcpy(copy->host_bytes, manifest->host_bytes, manifest->n_host_bytes);
	for (uint32_t r = 0; r < manifest->n_runs; r++)
		copy_run(&copy->runs[r], &manifest->runs[r], manifest->fields.node_bytes);
	return IFOREST_OK;
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

/* ---- Bytes ---- */

static uint32_t checksum_of(const uint8_t *bytes, uint32_t n_bytes)
{
	return (uint32_t)iforest_xxh64(bytes + IFOREST_MANIFEST_VERSION_OFFSET, n_bytes - IFOREST_MANIFEST_VERSION_OFFSET);
}

static void write_run(const struct iforest_manifest *manifest, const struct iforest_run *run, uint8_t *bytes)
{
	iforest_store64(bytes, run->place.run_id);
	iforest_store64(bytes + IFOREST_RUN_GENERATION_OFFSET, run->place.generation);
	iforest_store64(bytes + IFOREST_RUN_LOCATION_OFFSET, run->place.location);
	iforest_store32(bytes + IFOREST_RUN_N_LEAVES_OFFSET, run->n_leaves);
	iforest_store32(bytes + IFOREST_RUN_FLAGS_OFFSET, run->removal_in_progress ? REMOVAL_IN_PROGRESS : 0);
	memcpy(bytes + IFOREST_RUN_ROOT_OFFSET, run->root, manifest->fields.node_bytes);
}

/* Serialises a manifest. The caller releases the bytes. */
static enum iforest_status write_manifest(const struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  uint8_t **written, uint32_t *n_written)
{
	uint32_t run_bytes = IFOREST_RUN_ROOT_OFFSET + manifest->fields.node_bytes;
	uint32_t n_most =
		IFOREST_MANIFEST_HEADER + IFOREST_MAX_SCHEMA_BYTES + 4 + manifest->n_host_bytes + manifest->n_runs * run_bytes;
	uint8_t *bytes, *out;
	uint32_t n_bytes;

	if (manifest->n_host_bytes > IFOREST_MAX_HOST_BYTES || manifest->n_runs > IFOREST_MAX_RUNS)
		return IFOREST_TOO_LARGE;
	bytes = iforest_allocate(alloc, n_most);
	if (!bytes)
		return IFOREST_NO_MEMORY;
	out = bytes + IFOREST_MANIFEST_HEADER;
	out += iforest_node_schema_write(&manifest->fields, out);
	iforest_store32(out, manifest->n_host_bytes);
	out += 4;
	if (manifest->n_host_bytes)
		memcpy(out, manifest->host_bytes, manifest->n_host_bytes);
	out += manifest->n_host_bytes;
	for (uint32_t r = 0; r < manifest->n_runs; r++, out += run_bytes)
		write_run(manifest, &manifest->runs[r], out);
	n_bytes = (uint32_t)(out - bytes);

	iforest_store32(bytes, MAGIC);
	iforest_store16(bytes + IFOREST_MANIFEST_VERSION_OFFSET, VERSION);
	iforest_store16(bytes + IFOREST_MANIFEST_ZERO_OFFSET, 0);
	iforest_store32(bytes + IFOREST_MANIFEST_LENGTH_OFFSET, n_bytes);
	iforest_store64(bytes + IFOREST_MANIFEST_ID_OFFSET, manifest->id);
	iforest_store32(bytes + IFOREST_MANIFEST_PAGE_BYTES_OFFSET, manifest->page_bytes);
	iforest_store32(bytes + IFOREST_MANIFEST_N_RUNS_OFFSET, manifest->n_runs);
	iforest_store32(bytes + IFOREST_MANIFEST_CHECKSUM_OFFSET, checksum_of(bytes, n_bytes));
	*written = bytes;
	*n_written = n_bytes;
	return IFOREST_OK;
}

static enum iforest_status check_header(const uint8_t *bytes, uint32_t n_bytes, const char **what)
{
	*what = "the manifest is cut short";
	if (n_bytes < IFOREST_MANIFEST_HEADER + 1)
		return IFOREST_CORRUPT;
	*what = "the manifest's magic is wrong";
	if (iforest_load32(bytes) != MAGIC)
		return IFOREST_CORRUPT;
	*what = "the manifest's length is wrong";
	if (iforest_load32(bytes + IFOREST_MANIFEST_LENGTH_OFFSET) != n_bytes)
		return IFOREST_CORRUPT;
	*what = "the manifest's checksum is wrong";
	if (iforest_load32(bytes + IFOREST_MANIFEST_CHECKSUM_OFFSET) != checksum_of(bytes, n_bytes))
		return IFOREST_CORRUPT;
	*what = "the manifest's format version is unknown";
	return iforest_load16(bytes + IFOREST_MANIFEST_VERSION_OFFSET) == VERSION &&
			       iforest_load16(bytes + IFOREST_MANIFEST_ZERO_OFFSET) == 0
		       ? IFOREST_OK
		       : IFOREST_FORMAT;
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
	uint32_t run_bytes = IFOREST_RUN_ROOT_OFFSET + manifest->fields.node_bytes;
	enum iforest_status status = IFOREST_OK;

	if (n_runs > IFOREST_MAX_RUNS || (size_t)(end - at) != (size_t)n_runs * run_bytes)
		return IFOREST_CORRUPT;
	manifest->runs = iforest_allocate(manifest->alloc, n_runs * sizeof *manifest->runs);
	if (!manifest->runs)
		return IFOREST_NO_MEMORY;
	for (uint32_t r = 0; r < n_runs && !status; r++, at += run_bytes) {
		struct iforest_run *run = &manifest->runs[r];

		*run = (struct iforest_run){
			.place = { .run_id = iforest_load64(at),
				   .generation = iforest_load64(at + IFOREST_RUN_GENERATION_OFFSET),
				   .location = iforest_load64(at + IFOREST_RUN_LOCATION_OFFSET) },
			.n_leaves = iforest_load32(at + IFOREST_RUN_N_LEAVES_OFFSET),
			.removal_in_progress = iforest_load32(at + IFOREST_RUN_FLAGS_OFFSET) & REMOVAL_IN_PROGRESS,
		};

		if (iforest_load32(at + IFOREST_RUN_FLAGS_OFFSET) & ~(uint32_t)REMOVAL_IN_PROGRESS)
			return IFOREST_FORMAT;
		run->n_levels = iforest_node_levels(run->n_leaves, manifest->fanout);
		memcpy(run->root, at + IFOREST_RUN_ROOT_OFFSET, manifest->fields.node_bytes);
		status = run->n_leaves ? IFOREST_OK : IFOREST_CORRUPT;
	}
	manifest->n_runs = n_runs;
	return status;
}

enum iforest_status iforest_manifest_read(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const uint8_t *bytes, uint32_t n_bytes, const char **what)
{
	enum iforest_status status = check_header(bytes, n_bytes, what);
	const uint8_t *at = bytes + IFOREST_MANIFEST_HEADER, *end = bytes + n_bytes;
	uint32_t n_read;

	*manifest = (struct iforest_manifest){ .alloc = alloc };
	if (status)
		return status;
	manifest->id = iforest_load64(bytes + IFOREST_MANIFEST_ID_OFFSET);
	manifest->page_bytes = iforest_load32(bytes + IFOREST_MANIFEST_PAGE_BYTES_OFFSET);
	*what = "the manifest's field list is wrong";
	status = iforest_node_schema_parse(&manifest->fields, at, (uint32_t)(end - at), &n_read);
	if (!status && check_sizes(manifest))
		status = IFOREST_CORRUPT;
	if (!status) {
		at += n_read;
		*what = "the manifest's engine data are wrong";
		status = read_host_bytes(manifest, &at, end);
	}
	if (!status) {
		*what = "the manifest's list of runs is wrong";
		status = read_runs(manifest, at, end, iforest_load32(bytes + IFOREST_MANIFEST_N_RUNS_OFFSET));
	}
	if (status)
		iforest_manifest_release(manifest);
	return status;
}

/* ---- Changing ---- */

static bool are_same(const struct iforest_node_schema *a, const struct iforest_node_schema *b)
{
	uint8_t list_a[IFOREST_MAX_SCHEMA_BYTES], list_b[IFOREST_MAX_SCHEMA_BYTES];
	unsigned n_a = iforest_node_schema_write(a, list_a), n_b = iforest_node_schema_write(b, list_b);

	return n_a == n_b && memcmp(list_a, list_b, n_a) == 0;
}

/* Replaces the manifest by the one that another writer has published. */
static enum iforest_status take_newest(struct iforest_manifest *manifest, struct iforest_store *store, const uint8_t *bytes,
				       uint32_t n_bytes)
{
	struct iforest_manifest newest, old = *manifest;
	const char *what;
	enum iforest_status status = iforest_manifest_read(&newest, manifest->alloc, bytes, n_bytes, &what);

	if (!status && (newest.page_bytes != manifest->page_bytes || !are_same(&newest.fields, &manifest->fields))) {
		what = "the manifest is of another index";
		status = IFOREST_CORRUPT;
		iforest_manifest_release(&newest);
	}
	if (status == IFOREST_CORRUPT || status == IFOREST_FORMAT)
		store->fault = (struct iforest_fault){ .what = what };
	if (status)
		return status;
	*manifest = newest;
	iforest_manifest_release(&old);
	return IFOREST_OK;
}

static bool is_removed(const struct iforest_edit *edit, uint64_t run_id)
{
	for (uint32_t i = 0; i < edit->n_removed; i++)
		if (edit->removed[i] == run_id)
			return true;
	return false;
}

/* Fills in the runs of `edited`, which has room for one more than the manifest has. */
static enum iforest_status edit_runs(const struct iforest_manifest *manifest, const struct iforest_edit *edit,
				     struct iforest_manifest *edited)
{
	uint32_t n_removed = 0, n_changed = 0;

	edited->n_runs = 0;
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];

		if (is_removed(edit, run->place.run_id)) {
			n_removed++;
			continue;
		}
		if (edit->changed && edit->changed->place.run_id == run->place.run_id) {
			run = edit->changed;
			n_changed++;
		}
		edited->runs[edited->n_runs++] = *run;
	}
	if (edit->added)
		edited->runs[edited->n_runs++] = *edit->added;
	return n_removed == edit->n_removed && n_changed == (edit->changed != NULL) ? IFOREST_OK : IFOREST_NOT_FOUND;
}

enum iforest_status iforest_manifest_commit(struct iforest_manifest *manifest, struct iforest_store *store,
					    const struct iforest_edit *edit)
{
	static const struct iforest_edit nothing;
	const struct iforest_pager *pager = store->pager;
	struct iforest_manifest edited;
	uint8_t *bytes = NULL;
	const uint8_t *newest = NULL;
	uint32_t n_bytes;
	enum iforest_status status = IFOREST_OK;

	if (pager->begin_publish)
		status = pager->begin_publish(pager->context, manifest->id, &newest, &n_bytes);
	if (!status && newest)
		status = take_newest(manifest, store, newest, n_bytes);
	if (status)
		return status;
	edited = *manifest;
	edited.id = iforest_random63(store);
	edited.runs = iforest_allocate(manifest->alloc, (manifest->n_runs + 1) * sizeof *edited.runs);
	status = edited.runs ? edit_runs(manifest, edit ? edit : &nothing, &edited) : IFOREST_NO_MEMORY;
	if (!status)
		status = write_manifest(&edited, store->alloc, &bytes, &n_bytes);
	if (!status)
		status = pager->publish(pager->context, bytes, n_bytes);
	if (status) {
		iforest_release(manifest->alloc, edited.runs);
	} else {
		struct iforest_run *old = manifest->runs;

		*manifest = edited;
		iforest_release(manifest->alloc, old);
	}
	iforest_release(store->alloc, bytes);
	return status;
}
