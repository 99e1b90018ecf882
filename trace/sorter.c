#include "trace/sorter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_READ_BYTES = 4096, HEAD_BYTES = 8, SHOWN_FOLDER_BYTES = 200 };

/* A record in the arena, and the first bytes of its key as numbers, which decide most comparisons. */
struct trace_sorter_entry {
	uint64_t first, second;
	uint32_t offset, n_key_bytes, n_data_bytes;
};

/* A sorted part of the file, and a buffer that is read ahead. A record is the lengths of key and data (native), key, data. */
struct trace_sorter_run {
	uint64_t position, end; /* not yet read */
	struct trace_bytes buffer;
	size_t n_taken; /* of the buffer */
	struct trace_sorted_record record;
};

struct trace_sorter {
	size_t memory_bytes;
	struct trace_bytes arena;
	struct trace_sorter_entry *entries;
	size_t n_entries, n_entries_allocated, n_next;
	bool is_unsorted;

	int file; /* -1 before there is one */
	uint64_t n_file_bytes;
	struct trace_sorter_run *runs;
	size_t n_runs, n_runs_allocated;
	struct trace_sorter_run **heap; /* of the runs that have a record; the one with the lowest key first */
	size_t n_heap;
	struct trace_sorter_run *current; /* the run of the record returned last */
	char problem[300];
};

struct trace_sorter *trace_sorter_new(size_t memory_bytes)
{
	struct trace_sorter *sorter = calloc(1, sizeof *sorter);

	if (!sorter)
		return NULL;
	sorter->memory_bytes = memory_bytes;
	sorter->file = -1;
	return sorter;
}

static void release_runs(struct trace_sorter *sorter)
{
	for (size_t i = 0; i < sorter->n_runs; i++)
		trace_bytes_release(&sorter->runs[i].buffer);
	free(sorter->runs);
	free(sorter->heap);
}

void trace_sorter_free(struct trace_sorter *sorter)
{
	if (!sorter)
		return;
	release_runs(sorter);
	if (sorter->file >= 0)
		close(sorter->file);
	trace_bytes_release(&sorter->arena);
	free(sorter->entries);
	free(sorter);
}

const char *trace_sorter_problem(const struct trace_sorter *sorter)
{
	return sorter->problem;
}

static uint64_t key_number(struct trace_text key, size_t start)
{
	const unsigned char *at = (const unsigned char *)key.data + start;
	uint64_t number = 0;

	if (start + 8 <= key.n_bytes) /* which compiles to one instruction */
		return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
		       (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | at[7];
	for (size_t i = start; i < start + 8; i++)
		number = number << 8 | (i < key.n_bytes ? (unsigned char)key.data[i] : 0);
	return number;
}

static int compare_keys(struct trace_text a, struct trace_text b)
{
	int order = memcmp(a.data, b.data, a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes);

	return order ? order : (a.n_bytes > b.n_bytes) - (a.n_bytes < b.n_bytes);
}

static struct trace_text entry_key(const char *arena, const struct trace_sorter_entry *entry)
{
	return (struct trace_text){ arena + entry->offset, entry->n_key_bytes };
}

static int compare_entries(const char *arena, const struct trace_sorter_entry *a, const struct trace_sorter_entry *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return compare_keys(entry_key(arena, a), entry_key(arena, b));
}

/* ---- The temporary file ---- */

static int file_failed(struct trace_sorter *sorter, const char *what, const char *folder)
{
	snprintf(sorter->problem, sizeof sorter->problem, "a temporary file in %.*s cannot be %s: %s", SHOWN_FOLDER_BYTES,
		 folder, what, strerror(errno));
	return TRACE_ERROR_TEMPORARY;
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

static int make_file(struct trace_sorter *sorter)
{
	const char *folder = temporary_folder();
	struct trace_bytes path = { 0 };
	static const char name[] = "/iforest_sort_XXXXXX";

	if (trace_bytes_append(&path, (struct trace_text){ folder, strlen(folder) }, NULL) < 0 ||
	    trace_bytes_append(&path, (struct trace_text){ name, sizeof name }, NULL) < 0) {
		trace_bytes_release(&path);
		return TRACE_ERROR_MEMORY;
	}
	sorter->file = mkstemp(path.data);
	if (sorter->file >= 0)
		unlink(path.data);
	trace_bytes_release(&path);
	return sorter->file < 0 ? file_failed(sorter, "made", folder) : TRACE_OK;
}

static int write_bytes(struct trace_sorter *sorter, const char *data, size_t n_bytes)
{
	while (n_bytes > 0) {
		ssize_t n = pwrite(sorter->file, data, n_bytes, (off_t)sorter->n_file_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return file_failed(sorter, "written", temporary_folder());
		data += n;
		n_bytes -= (size_t)n;
		sorter->n_file_bytes += (uint64_t)n;
	}
	return TRACE_OK;
}

/* ---- Runs ---- */

static void merge_entries(const char *arena, struct trace_sorter_entry *entries, size_t n_left, size_t n,
			  struct trace_sorter_entry *scratch)
{
	size_t left = 0, right = n_left;

	/* the halves are in order already if the trace was written in order */
	if (compare_entries(arena, &entries[n_left - 1], &entries[n_left]) <= 0)
		return;
	for (size_t i = 0; i < n; i++) {
		bool takes_left = right == n || (left < n_left && compare_entries(arena, &entries[left], &entries[right]) <= 0);

		scratch[i] = takes_left ? entries[left++] : entries[right++];
	}
	memcpy(entries, scratch, n * sizeof *entries);
}

static void sort_entries(const char *arena, struct trace_sorter_entry *entries, size_t n, struct trace_sorter_entry *scratch)
{
	if (n < 2)
		return;
	sort_entries(arena, entries, n / 2, scratch);
	sort_entries(arena, entries + n / 2, n - n / 2, scratch);
	merge_entries(arena, entries, n / 2, n, scratch);
}

/* Sorts the records in memory. */
static int sort_memory(struct trace_sorter *sorter)
{
	struct trace_sorter_entry *scratch;

	if (!sorter->is_unsorted)
		return TRACE_OK;
	scratch = malloc(sorter->n_entries * sizeof *scratch);
	if (!scratch)
		return TRACE_ERROR_MEMORY;
	sort_entries(sorter->arena.data, sorter->entries, sorter->n_entries, scratch);
	free(scratch);
	sorter->is_unsorted = false;
	return TRACE_OK;
}

static int make_run(struct trace_sorter *sorter)
{
	struct trace_sorter_run *runs;
	size_t n_allocated = sorter->n_runs_allocated ? 2 * sorter->n_runs_allocated : 16;

	if (sorter->n_runs < sorter->n_runs_allocated)
		return TRACE_OK;
	runs = realloc(sorter->runs, n_allocated * sizeof *runs);
	if (!runs)
		return TRACE_ERROR_MEMORY;
	sorter->runs = runs;
	sorter->n_runs_allocated = n_allocated;
	return TRACE_OK;
}

static int write_records(struct trace_sorter *sorter)
{
	enum { WRITTEN_BYTES = 256 * 1024 };
	struct trace_bytes out = { 0 };
	int status = TRACE_OK;

	for (size_t i = 0; status == TRACE_OK && i < sorter->n_entries; i++) {
		const struct trace_sorter_entry *entry = &sorter->entries[i];
		uint32_t head[2] = { entry->n_key_bytes, entry->n_data_bytes };
		struct trace_text body = { sorter->arena.data + entry->offset, (size_t)head[0] + head[1] };

		if (trace_bytes_append(&out, (struct trace_text){ (const char *)head, HEAD_BYTES }, NULL) < 0 ||
		    trace_bytes_append(&out, body, NULL) < 0)
			status = TRACE_ERROR_MEMORY;
		else if (out.n_bytes >= WRITTEN_BYTES || i + 1 == sorter->n_entries) {
			status = write_bytes(sorter, out.data, out.n_bytes);
			trace_bytes_clear(&out);
		}
	}
	trace_bytes_release(&out);
	return status;
}

/* Moves the records from memory to a run of the file. */
static int spill(struct trace_sorter *sorter)
{
	uint64_t start = sorter->n_file_bytes;
	int status = sort_memory(sorter);

	if (status == TRACE_OK)
		status = make_run(sorter);
	if (status == TRACE_OK && sorter->file < 0)
		status = make_file(sorter);
	if (status == TRACE_OK)
		status = write_records(sorter);
	if (status < 0)
		return status;
	sorter->runs[sorter->n_runs++] = (struct trace_sorter_run){ .position = start, .end = sorter->n_file_bytes };
	sorter->n_entries = 0;
	sorter->arena.n_bytes = 0;
	return TRACE_OK;
}

static int make_entry(struct trace_sorter *sorter)
{
	size_t n_allocated = sorter->n_entries_allocated ? 2 * sorter->n_entries_allocated : 256;
	struct trace_sorter_entry *entries;

	if (sorter->n_entries < sorter->n_entries_allocated)
		return TRACE_OK;
	entries = realloc(sorter->entries, n_allocated * sizeof *entries);
	if (!entries)
		return TRACE_ERROR_MEMORY;
	sorter->entries = entries;
	sorter->n_entries_allocated = n_allocated;
	return TRACE_OK;
}

/* Each record counts two entries, because sorting needs scratch memory for as many entries. */
static bool is_full(const struct trace_sorter *sorter, size_t n_more)
{
	size_t n_bytes = sorter->arena.n_bytes + n_more + (sorter->n_entries + 1) * 2 * sizeof *sorter->entries;

	return sorter->n_entries > 0 && n_bytes > sorter->memory_bytes;
}

int trace_sorter_add(struct trace_sorter *sorter, struct trace_text key, struct trace_text data)
{
	struct trace_sorter_entry *entry;
	int status = TRACE_OK;

	if (key.n_bytes > INT32_MAX / 2 || data.n_bytes > INT32_MAX / 2)
		return TRACE_ERROR_LIMIT;
	if (is_full(sorter, key.n_bytes + data.n_bytes))
		status = spill(sorter);
	if (status == TRACE_OK)
		status = make_entry(sorter);
	if (status == TRACE_OK)
		status = trace_bytes_reserve(&sorter->arena, key.n_bytes + data.n_bytes);
	if (status < 0)
		return status;
	entry = &sorter->entries[sorter->n_entries++];
	*entry = (struct trace_sorter_entry){ .first = key_number(key, 0),
					      .second = key_number(key, 8),
					      .offset = (uint32_t)sorter->arena.n_bytes,
					      .n_key_bytes = (uint32_t)key.n_bytes,
					      .n_data_bytes = (uint32_t)data.n_bytes };
	memcpy(sorter->arena.data + sorter->arena.n_bytes, key.data, key.n_bytes);
	if (data.n_bytes > 0)
		memcpy(sorter->arena.data + sorter->arena.n_bytes + key.n_bytes, data.data, data.n_bytes);
	sorter->arena.n_bytes += key.n_bytes + data.n_bytes;
	if (sorter->n_entries > 1 && !sorter->is_unsorted)
		sorter->is_unsorted = compare_entries(sorter->arena.data, entry - 1, entry) > 0;
	return TRACE_OK;
}

static struct trace_text text_of(const struct trace_record *record)
{
	return (struct trace_text){ record->bytes.data, record->bytes.n_bytes };
}

int trace_sorter_add_record(struct trace_sorter *sorter, const struct trace_record *key, const struct trace_record *data)
{
	if (key->out_of_memory || data->out_of_memory)
		return TRACE_ERROR_MEMORY;
	return trace_sorter_add(sorter, text_of(key), text_of(data));
}

/* ---- Merge ---- */

static int read_bytes(struct trace_sorter *sorter, struct trace_sorter_run *run, size_t n_bytes)
{
	if (trace_bytes_reserve(&run->buffer, n_bytes) < 0)
		return TRACE_ERROR_MEMORY;
	while (n_bytes > 0) {
		ssize_t n = pread(sorter->file, run->buffer.data + run->buffer.n_bytes, n_bytes, (off_t)run->position);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return file_failed(sorter, "read", temporary_folder());
		run->buffer.n_bytes += (size_t)n;
		run->position += (uint64_t)n;
		n_bytes -= (size_t)n;
	}
	return TRACE_OK;
}

/* Ensures that the buffer has n_bytes from n_taken on. */
static int have_bytes(struct trace_sorter *sorter, struct trace_sorter_run *run, size_t n_bytes)
{
	size_t n_left = run->buffer.n_bytes - run->n_taken, n_wanted = sorter->memory_bytes / sorter->n_runs;

	if (n_bytes <= n_left)
		return TRACE_OK;
	if (n_left > 0)
		memmove(run->buffer.data, run->buffer.data + run->n_taken, n_left);
	run->buffer.n_bytes = n_left;
	run->n_taken = 0;
	if (n_wanted < LEAST_READ_BYTES)
		n_wanted = LEAST_READ_BYTES;
	if (n_wanted < n_bytes)
		n_wanted = n_bytes;
	n_wanted -= n_left;
	if (n_wanted > run->end - run->position)
		n_wanted = (size_t)(run->end - run->position);
	return read_bytes(sorter, run, n_wanted);
}

/* Reads the next record of a run: TRACE_ROW, or TRACE_OK at its end. */
static int advance_run(struct trace_sorter *sorter, struct trace_sorter_run *run)
{
	uint32_t head[2];
	int status;

	if (run->position == run->end && run->n_taken == run->buffer.n_bytes)
		return TRACE_OK;
	status = have_bytes(sorter, run, HEAD_BYTES);
	if (status < 0)
		return status;
	memcpy(head, run->buffer.data + run->n_taken, HEAD_BYTES);
	status = have_bytes(sorter, run, HEAD_BYTES + (size_t)head[0] + head[1]);
	if (status < 0)
		return status;
	run->record.key = (struct trace_text){ run->buffer.data + run->n_taken + HEAD_BYTES, head[0] };
	run->record.data = (struct trace_text){ run->record.key.data + head[0], head[1] };
	run->n_taken += HEAD_BYTES + (size_t)head[0] + head[1];
	return TRACE_ROW;
}

static bool is_before(const struct trace_sorter_run *a, const struct trace_sorter_run *b)
{
	int order = compare_keys(a->record.key, b->record.key);

	return order < 0 || (order == 0 && a < b);
}

static void sink_down(struct trace_sorter *sorter, size_t i)
{
	struct trace_sorter_run **heap = sorter->heap, *run = heap[i];
	size_t child;

	while ((child = 2 * i + 1) < sorter->n_heap) {
		if (child + 1 < sorter->n_heap && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], run))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = run;
}

static int begin_merge(struct trace_sorter *sorter)
{
	int status = spill(sorter);

	trace_bytes_release(&sorter->arena);
	free(sorter->entries);
	sorter->entries = NULL;
	sorter->n_entries_allocated = 0;
	if (status < 0)
		return status;
	sorter->heap = malloc(sorter->n_runs * sizeof(struct trace_sorter_run *));
	if (!sorter->heap)
		return TRACE_ERROR_MEMORY;
	for (size_t i = 0; i < sorter->n_runs; i++) {
		status = advance_run(sorter, &sorter->runs[i]);
		if (status < 0)
			return status;
		sorter->heap[sorter->n_heap++] = &sorter->runs[i];
	}
	for (size_t i = sorter->n_heap; i-- > 0;)
		sink_down(sorter, i);
	return TRACE_OK;
}

int trace_sorter_sort(struct trace_sorter *sorter)
{
	return sorter->n_runs > 0 ? begin_merge(sorter) : sort_memory(sorter);
}

static int next_merged(struct trace_sorter *sorter, struct trace_sorted_record *record)
{
	if (sorter->current) {
		int status = advance_run(sorter, sorter->current);

		if (status < 0)
			return status;
		if (status == TRACE_OK)
			sorter->heap[0] = sorter->heap[--sorter->n_heap];
		if (sorter->n_heap > 0)
			sink_down(sorter, 0);
	}
	if (sorter->n_heap == 0) {
		sorter->current = NULL;
		return TRACE_OK;
	}
	sorter->current = sorter->heap[0];
	*record = sorter->current->record;
	return TRACE_ROW;
}

int trace_sorter_next(struct trace_sorter *sorter, struct trace_sorted_record *record)
{
	const struct trace_sorter_entry *entry;

	if (sorter->n_runs > 0)
		return next_merged(sorter, record);
	if (sorter->n_next == sorter->n_entries)
		return TRACE_OK;
	entry = &sorter->entries[sorter->n_next++];
	record->key = entry_key(sorter->arena.data, entry);
	record->data = (struct trace_text){ record->key.data + entry->n_key_bytes, entry->n_data_bytes };
	return TRACE_ROW;
}
