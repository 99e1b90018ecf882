#include "core/base/platform.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness.h"
#include "tests/support/limited.h"

enum { MOST = IFOREST_MAX_THREADS };

/* What each thread leaves behind; each writes its own places. */
struct notes {
	unsigned n_calls[MOST + 1];
	uint64_t sums[MOST + 1];
	bool is_main[MOST + 1];
	pthread_t main;
};

static void note(void *context, unsigned thread)
{
	struct notes *notes = context;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 20000; i++) /* takes a while, so that one who does not wait is caught */
		sum += i ^ thread;
	notes->is_main[thread] = pthread_equal(pthread_self(), notes->main);
	notes->sums[thread] = sum;
	notes->n_calls[thread]++;
}

static bool each_was_called_once(const struct notes *notes, unsigned n_threads)
{
	for (unsigned t = 0; t <= MOST; t++) {
		uint64_t sum = 0;

		for (uint64_t i = 0; i < 20000; i++)
			sum += i ^ t;
		if (notes->n_calls[t] != (t < n_threads) || (t < n_threads && notes->sums[t] != sum))
			return false;
	}
	return true;
}

static unsigned called_by_main(const struct notes *notes)
{
	unsigned n = 0;

	for (unsigned t = 0; t < MOST; t++)
		n += notes->is_main[t];
	return n;
}

static void each_thread_is_called_once(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, 4, 17, MOST };

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(counts); i++) {
		struct notes notes = { .main = pthread_self() };

		iforest_run_threads(counts[i], note, &notes);
		assert_true(each_was_called_once(&notes, counts[i]));
		assert_true(called_by_main(&notes) >= 1);
		if (counts[i] <= 4) /* as many threads can be had */
			assert_int_equal(called_by_main(&notes), 1);
	}
}

/* No address space is left for another stack: the caller does the work of those that cannot be had. */
static int threads_that_cannot_be_had(void)
{
	struct notes notes = { .main = pthread_self() };

	iforest_run_threads(64, note, &notes);
	LIMITED_EXPECT(each_was_called_once(&notes, 64));
	LIMITED_EXPECT(called_by_main(&notes) > 1);
	return 0;
}

static void work_is_done_without_threads(void **state)
{
	(void)state;
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_AS, 1, threads_that_cannot_be_had), 0);
}

static void committed_memory_is_zeros(void **state)
{
	enum { N_PIECES = 6 };
	uint8_t *start = iforest_address_space(N_PIECES * IFOREST_COMMIT_BYTES);

	(void)state;
	assert_non_null(start);
	assert_int_equal((uintptr_t)start % IFOREST_COMMIT_BYTES, 0); /* or no huge page could stand there */
	for (unsigned piece = 0; piece < N_PIECES; piece += 1 + piece) { /* 0, 1, 3: of several at a time */
		uint8_t *at = start + piece * IFOREST_COMMIT_BYTES;
		size_t n_bytes = (piece + 1) * IFOREST_COMMIT_BYTES;

		if (n_bytes > (N_PIECES - piece) * IFOREST_COMMIT_BYTES)
			n_bytes = (N_PIECES - piece) * IFOREST_COMMIT_BYTES;
		assert_true(iforest_address_space_commit(at, n_bytes, piece > 0));
		assert_true(at[0] == 0 && memcmp(at, at + 1, n_bytes - 1) == 0);
		memset(at, 0xA5, n_bytes);
	}
	for (size_t i = 0; i < N_PIECES * IFOREST_COMMIT_BYTES; i++)
		if (start[i] != 0xA5)
			fail_msg("byte %zu has changed", i);
	iforest_address_space_release(start, N_PIECES * IFOREST_COMMIT_BYTES);
}

/* In a process of its own: does reading there end it? */
static bool reading_is_deadly(const volatile uint8_t *byte)
{
	int how = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* neither cmocka's handler nor a sanitizer's */
		(void)signal(SIGBUS, SIG_DFL);
		(void)*byte;
		_exit(0);
	}
	assert_true(child > 0 && waitpid(child, &how, 0) == child);
	return WIFSIGNALED(how);
}

static void there_is_no_memory_before_it_is_committed(void **state)
{
	uint8_t *start = iforest_address_space(4 * IFOREST_COMMIT_BYTES);

	(void)state;
	assert_non_null(start);
	assert_true(iforest_address_space_commit(start, IFOREST_COMMIT_BYTES, false));
	assert_false(reading_is_deadly(start + IFOREST_COMMIT_BYTES - 1));
	assert_true(reading_is_deadly(start + IFOREST_COMMIT_BYTES));
	iforest_address_space_release(start, 4 * IFOREST_COMMIT_BYTES);
}

static void what_cannot_be_had_is_refused(void **state)
{
	uint8_t *start = iforest_address_space(2 * IFOREST_COMMIT_BYTES);

	(void)state;
	assert_null(iforest_address_space(SIZE_MAX - IFOREST_COMMIT_BYTES + 1));
	assert_null(iforest_address_space(SIZE_MAX / 2 + 1));
	assert_non_null(start);
	iforest_address_space_release(start, 2 * IFOREST_COMMIT_BYTES);
	assert_false(iforest_address_space_commit(start, IFOREST_COMMIT_BYTES, false)); /* it is gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_is_called_once),
		cmocka_unit_test(work_is_done_without_threads),
		cmocka_unit_test(committed_memory_is_zeros),
		cmocka_unit_test(there_is_no_memory_before_it_is_committed),
		cmocka_unit_test(what_cannot_be_had_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
