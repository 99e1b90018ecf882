/* The sorter of records against qsort, in memory and through its temporary file, and without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/sorter.h"

enum { N_RECORDS = 5000, MOST_KEY_BYTES = 30 };

struct sample {
	unsigned char key[MOST_KEY_BYTES];
	size_t n_key_bytes, n_data_bytes;
	unsigned number;
};

static struct sample samples[N_RECORDS];
static unsigned seed;

static unsigned random_below(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Keys of a few bytes, so that many have the same beginning; a number at the end makes them unique. */
static void make_samples(void)
{
	for (unsigned i = 0; i < N_RECORDS; i++) {
		struct sample *sample = &samples[i];

		sample->number = i;
		sample->n_key_bytes = 4 + random_below(MOST_KEY_BYTES - 4);
		for (size_t k = 0; k < sample->n_key_bytes; k++)
			sample->key[k] = (unsigned char)(random_below(3) * 127);
		memcpy(sample->key + sample->n_key_bytes - 4, (unsigned char[]){ 1, (unsigned char)(i >> 16), (unsigned char)(i >> 8), (unsigned char)i }, 4);
		sample->n_data_bytes = random_below(10) ? 4 + random_below(50) : 4 + random_below(20000);
	}
}

static int compare(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;
	int order = memcmp(a->key, b->key, a->n_key_bytes < b->n_key_bytes ? a->n_key_bytes : b->n_key_bytes);

	return order ? order : (a->n_key_bytes > b->n_key_bytes) - (a->n_key_bytes < b->n_key_bytes);
}

static int add_samples(struct trace_sorter *sorter)
{
	static char data[20100];
	int status = TRACE_OK;

	for (unsigned i = 0; status == TRACE_OK && i < N_RECORDS; i++) {
		memset(data, (int)(samples[i].number % 251), samples[i].n_data_bytes);
		memcpy(data, &samples[i].number, sizeof samples[i].number);
		status = trace_sorter_add(sorter, (struct trace_text){ (const char *)samples[i].key, samples[i].n_key_bytes },
					  (struct trace_text){ data, samples[i].n_data_bytes });
	}
	return status;
}

static void expect_sorted(size_t memory_bytes)
{
	struct trace_sorter *sorter = trace_sorter_new(memory_bytes);
	struct trace_sorted_record record;

	assert_non_null(sorter);
	assert_int_equal(add_samples(sorter), TRACE_OK);
	assert_int_equal(trace_sorter_sort(sorter), TRACE_OK);
	qsort(samples, N_RECORDS, sizeof *samples, compare);
	for (unsigned i = 0; i < N_RECORDS; i++) {
		assert_int_equal(trace_sorter_next(sorter, &record), TRACE_ROW);
		assert_int_equal(record.key.n_bytes, samples[i].n_key_bytes);
		assert_memory_equal(record.key.data, samples[i].key, samples[i].n_key_bytes);
		assert_int_equal(record.data.n_bytes, samples[i].n_data_bytes);
		assert_memory_equal(record.data.data, &samples[i].number, sizeof samples[i].number);
		for (size_t k = sizeof samples[i].number; k < record.data.n_bytes; k++)
			assert_int_equal((unsigned char)record.data.data[k], samples[i].number % 251);
	}
	assert_int_equal(trace_sorter_next(sorter, &record), TRACE_OK);
	trace_sorter_free(sorter);
}

static void any_memory_gives_the_same_order(void **state)
{
	static const size_t memories[] = { 1, 1000, 100000, 1000000, 100000000 };

	(void)state;
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
		seed = 11 + (unsigned)i;
		make_samples();
		expect_sorted(memories[i]);
		/* and what comes sorted */
		expect_sorted(memories[i]);
	}
}

static void nothing_gives_nothing(void **state)
{
	struct trace_sorter *sorter = trace_sorter_new(100);
	struct trace_sorted_record record;

	(void)state;
	assert_int_equal(trace_sorter_sort(sorter), TRACE_OK);
	assert_int_equal(trace_sorter_next(sorter, &record), TRACE_OK);
	trace_sorter_free(sorter);
}

static void without_a_folder_for_the_file_it_is_an_error(void **state)
{
	const char *before = getenv("TMPDIR");
	char *kept = before ? strdup(before) : NULL;
	struct trace_sorter *sorter = trace_sorter_new(1000);

	(void)state;
	setenv("TMPDIR", "/no/such/folder", 1);
	seed = 5;
	make_samples();
	assert_int_equal(add_samples(sorter), TRACE_ERROR_TEMPORARY);
	assert_string_equal(trace_sorter_problem(sorter),
			    "a temporary file in /no/such/folder cannot be made: No such file or directory");
	trace_sorter_free(sorter);
	if (kept)
		setenv("TMPDIR", kept, 1);
	else
		unsetenv("TMPDIR");
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_memory_gives_the_same_order),
		cmocka_unit_test(nothing_gives_nothing),
		cmocka_unit_test(without_a_folder_for_the_file_it_is_an_error),
	};

	return cmocka_run_group_tests_name("sorter", tests, NULL, NULL);
}
