/* examples/forest/forest_example.c -- Longest event of any window, and of each pixel of a timeline, over an array of events.
 *
 *   cc forest_example.c $(pkg-config --cflags --libs iforest) -o forest_example && ./forest_example
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <iforest/image.h>

enum { N_EVENTS = 100000, N_MORE = 5000, N_PIXELS = 8 };

struct event {
	int64_t start, duration;
};

/* ---- a kind: what is kept of a set of events, how two such sets become one ---- */

struct longest {
	int64_t duration; /* -1: there is no event */
	uint64_t number;  /* the first of equally long ones */
};

static void of_none(void *state)
{
	*(struct longest *)state = (struct longest){ .duration = -1 };
}

static void of_both(void *state, const void *left, const void *right)
{
	const struct longest *a = left, *b = right;

	*(struct longest *)state = b->duration > a->duration ? *b : *a;
}

/* May be left out: lets a fold pass by events that cannot be the longest. Of equal ones the left one wins. */
static bool is_beaten(const void *state, const void *whole, bool from_left)
{
	const struct longest *best = state, *other = whole;

	return from_left ? other->duration < best->duration : other->duration <= best->duration;
}

static const struct iforest_monoid longest_kind = { .name = "longest event",
						  .state_bytes = sizeof(struct longest),
						  .identity = of_none,
						  .combine = of_both,
						  .absorbs = is_beaten };

static void add_events(void *context, uint64_t from, uint64_t to, void *state)
{
	const struct event *events = context;
	struct longest *best = state;

	for (uint64_t i = from; i < to; i++)
		if (events[i].duration > best->duration)
			*best = (struct longest){ events[i].duration, i };
}

/* ---- memory and files ---- */

static void *reallocate(void *context, void *memory, size_t n_bytes) { (void)context; return realloc(memory, n_bytes); }
static void release(void *context, void *memory) { (void)context; free(memory); }
static const struct iforest_alloc alloc = { reallocate, release, NULL };

static enum iforest_status write_bytes(void *file, const void *bytes, size_t n_bytes)
{
	return fwrite(bytes, 1, n_bytes, file) == n_bytes ? IFOREST_OK : IFOREST_IO;
}

static void check(enum iforest_status status)
{
	if (status) {
		fprintf(stderr, "forest_example: %s\n", iforest_status_text(status));
		exit(1);
	}
}

/* Events as a trace might have them: sorted by start, most of them short. */
static void make_events(struct event *events)
{
	uint64_t x = 1;
	int64_t start = 0;

	for (unsigned i = 0; i < N_EVENTS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		start += (int64_t)(x >> 33) % 20;
		events[i] = (struct event){ start, (int64_t)(x >> 40) % (i % 1000 == 0 ? 100000 : 300) };
	}
}

static void print_window(const struct iforest_block_forest *blocks, int64_t from, int64_t to)
{
	struct longest best;

	iforest_block_forest_fold(blocks, iforest_block_forest_find(blocks, from), iforest_block_forest_find(blocks, to),
				  &best);
	printf("[%" PRId64 ", %" PRId64 "): event %" PRIu64 " takes %" PRId64 "\n", from, to, best.number, best.duration);
}

static void print_pixels(const struct iforest_block_forest *blocks, int64_t from, int64_t to)
{
	int64_t bounds[N_PIXELS + 1];
	struct longest best[N_PIXELS];

	for (int p = 0; p <= N_PIXELS; p++)
		bounds[p] = from + (to - from) * p / N_PIXELS;
	iforest_block_forest_zoom(blocks, bounds, N_PIXELS, best);
	for (int p = 0; p < N_PIXELS; p++)
		printf("%10" PRId64 "  %7" PRIu64 "  %6" PRId64 "\n", bounds[p], best[p].number, best[p].duration);
}

int main(void)
{
	struct event *events = malloc(N_EVENTS * sizeof events[0]);
	struct iforest_entries entries = { .fold = add_events,
					   .context = events,
					   .array = events,
					   .entry_bytes = sizeof events[0],
					   .times = { &events[0].start, sizeof events[0] } };
	struct iforest_block_forest blocks, opened;
	FILE *file = tmpfile();
	size_t n_bytes;
	void *image;

	if (!events || !file)
		return 1;
	make_events(events);
	check(iforest_block_forest_init(&blocks, &longest_kind, &alloc, IFOREST_GROW_IN_PLACE, &entries,
					IFOREST_DEFAULT_BLOCK));
	check(iforest_block_forest_extend(&blocks, N_EVENTS - N_MORE, 1));
	print_window(&blocks, 1000, 2000);
	check(iforest_block_forest_extend(&blocks, N_EVENTS, 2)); /* more have come; by two threads */
	print_window(&blocks, 1000, INT64_MAX);
	printf("\n     start    event   takes\n");
	print_pixels(&blocks, 0, events[N_EVENTS - 1].start + 1);

	/* an image is read where it lies: in memory, as here, or in a mapping of the file */
	check(iforest_block_forest_save(&blocks, write_bytes, file));
	n_bytes = (size_t)ftell(file);
	image = aligned_alloc(16, (n_bytes + 15) & ~(size_t)15);
	rewind(file);
	if (!image || fread(image, 1, n_bytes, file) != n_bytes)
		return 1;
	check(iforest_block_forest_open(&opened, &longest_kind, &entries, image, n_bytes, true));
	printf("\nfrom an image of %zu bytes, %.1f %% of the events:\n", n_bytes,
	       100.0 * (double)n_bytes / N_EVENTS / sizeof events[0]);
	print_window(&opened, 1000, INT64_MAX);

	iforest_block_forest_release(&opened);
	iforest_block_forest_release(&blocks);
	free(image);
	fclose(file);
	free(events);
	return 0;
}
