#include "core/forest/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdio.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/block_sample.h"
#include "tests/support/harness.h"

enum { MOST_BYTES = 1 << 20, MOST_ENTRIES = 700, HEADER_BYTES = 128 };

/* An image as a writer takes it, aligned as a mapping would be. */
struct image {
	_Alignas(64) uint8_t bytes[MOST_BYTES];
	uint64_t n_bytes;
	unsigned n_calls, fail_at; /* the call that fails, the first is 1; 0: none */
};

static enum iforest_status take(void *context, const void *bytes, size_t n_bytes)
{
	struct image *image = context;

	if (++image->n_calls == image->fail_at)
		return IFOREST_IO;
	assert_true(n_bytes > 0 && image->n_bytes + n_bytes <= MOST_BYTES);
	memcpy(image->bytes + image->n_bytes, bytes, n_bytes);
	image->n_bytes += n_bytes;
	return IFOREST_OK;
}

static void clear(struct image *image)
{
	image->n_bytes = 0;
	image->n_calls = image->fail_at = 0;
}

/* A forest over blocks with its entries. */
struct original {
	struct block_sample sample;
	struct iforest_block_forest blocks;
	struct alloc_fault fault;
};

static void start(struct original *original, const struct iforest_monoid *kind, uint64_t n, uint64_t block, bool has_times,
		  struct random *dice)
{
	alloc_fault_init(&original->fault);
	block_sample_start(&original->sample, kind, MOST_ENTRIES, false, has_times);
	block_sample_add(&original->sample, n, dice);
	assert_ok(iforest_block_forest_init(&original->blocks, kind, &original->fault.alloc, IFOREST_GROW_BY_MOVING,
					    &original->sample.of, block));
	assert_ok(iforest_block_forest_extend(&original->blocks, n, 1));
}

static void stop(struct original *original)
{
	iforest_block_forest_release(&original->blocks);
	assert_int_equal(original->fault.n_live, 0);
	block_sample_stop(&original->sample);
}

static enum iforest_status open_blocks(struct iforest_block_forest *blocks, const struct original *original,
				       const struct image *image, bool all)
{
	return iforest_block_forest_open(blocks, original->sample.kind, &original->sample.of, image->bytes, image->n_bytes,
					 all);
}

/* All ranges, and where there are times some buckets. */
static void assert_answers(const struct iforest_block_forest *blocks, const struct block_sample *sample, struct random *dice)
{
	assert_int_equal(blocks->n_entries, sample->n);
	for (unsigned k = 0; k < 200; k++) {
		uint64_t from = random_below(dice, sample->n + 1), to = from + random_below(dice, sample->n + 1 - from);
		union block_state expected, got;

		block_sample_fold(sample, from, to, &expected);
		iforest_block_forest_fold(blocks, from, to, &got);
		assert_true(block_states_equal(sample->kind, &got, &expected));
		if (blocks->has_times) {
			int64_t bounds[2] = { random_between(dice, -4000, 4000), 5000 };

			block_sample_fold(sample, block_sample_before(sample, bounds[0]),
					  block_sample_before(sample, bounds[1]), &expected);
			iforest_block_forest_zoom(blocks, bounds, 1, &got);
			assert_true(block_states_equal(sample->kind, &got, &expected));
		}
	}
}

static void saved_and_opened_answers_are_equal(void **state)
{
	static struct image image, again;

	(void)state;
	for (unsigned round = 0; round < random_rounds(8 * BLOCK_KINDS); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t n = random_chance(&dice, 20) ? random_below(&dice, 3) : random_below(&dice, MOST_ENTRIES);
		struct original original;
		struct iforest_block_forest opened;

		start(&original, block_kinds[round % BLOCK_KINDS], n, UINT64_C(1) << random_below(&dice, 7), round % 2, &dice);
		clear(&image);
		clear(&again);
		assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
		assert_answers(&original.blocks, &original.sample, &dice); /* saving leaves them as they were */
		assert_ok(open_blocks(&opened, &original, &image, true));
		assert_answers(&opened, &original.sample, &dice);
		assert_ok(iforest_block_forest_save(&opened, take, &again));
		assert_int_equal(again.n_bytes, image.n_bytes);
		assert_memory_equal(again.bytes, image.bytes, image.n_bytes);
		assert_status(iforest_block_forest_extend(&opened, n + 1, 1), IFOREST_ARGUMENT);
		assert_status(iforest_block_forest_truncate(&opened, 0), IFOREST_ARGUMENT);
		assert_status(iforest_block_forest_update(&opened, 0), IFOREST_ARGUMENT);
		assert_answers(&opened, &original.sample, &dice);
		iforest_block_forest_release(&opened);
		assert_memory_equal(again.bytes, image.bytes, image.n_bytes); /* the image is nobody's to change */
		stop(&original);
	}
}

static void save_plain(struct image *image, struct iforest_forest *forest)
{
	clear(image);
	assert_ok(iforest_forest_save(forest, take, image));
}

static void plain_forests(void **state)
{
	static struct image image, again;
	struct random dice = random_from(random_seed());
	struct affine leaves[100], one, fold;
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	affine_random(leaves, COUNT_OF(leaves), &dice);
	for (uint64_t n = 0; n < COUNT_OF(leaves); n++) {
		struct iforest_forest forest, opened;

		iforest_forest_init(&forest, &affine_kind, &fault.alloc,
				    n % 2 ? IFOREST_GROW_IN_PLACE : IFOREST_GROW_BY_MOVING);
		assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], n, 1));
		save_plain(&image, &forest);
		assert_int_equal(image.n_bytes, IFOREST_IMAGE_SLOTS + iforest_forest_bytes(&affine_kind, n));
		assert_ok(iforest_forest_open(&opened, &affine_kind, image.bytes, image.n_bytes, true));
		assert_true(slots_are_of(&opened, leaves) && opened.n_leaves == n);
		for (uint64_t from = 0; from <= n; from++) {
			iforest_forest_fold(&opened, from, n, &fold);
			assert_true(affine_equal(fold, affine_fold(leaves, from, n)));
		}
		assert_status(iforest_forest_append(&opened, &one), IFOREST_ARGUMENT);
		assert_status(iforest_forest_append_many(&opened, leaves, sizeof leaves[0], 2, 2), IFOREST_ARGUMENT);
		assert_status(iforest_forest_truncate(&opened, 0), IFOREST_ARGUMENT);
		if (n > 0)
			assert_status(iforest_forest_update(&opened, 0, &leaves[1]), IFOREST_ARGUMENT);
		save_plain(&again, &opened);
		assert_true(again.n_bytes == image.n_bytes);
		assert_memory_equal(again.bytes, image.bytes, image.n_bytes);
		iforest_forest_release(&opened);
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

/* Built at once, or with detours and in memory that was not zeros. */
static void equal_forests_have_equal_images(void **state)
{
	static struct image image, other;

	(void)state;
	for (unsigned round = 0; round < random_rounds(10 * BLOCK_KINDS); round++) {
		struct random dice = random_from(random_seed() + round);
		struct original original;
		struct iforest_block_forest detour;
		uint64_t n = random_below(&dice, MOST_ENTRIES), n_more = random_below(&dice, MOST_ENTRIES - n);

		start(&original, block_kinds[round % BLOCK_KINDS], n + n_more, UINT64_C(1) << random_below(&dice, 6), round % 2,
		      &dice);
		assert_ok(iforest_block_forest_init(&detour, original.sample.kind, &original.fault.alloc, IFOREST_GROW_IN_PLACE,
						    &original.sample.of, UINT64_C(1) << original.blocks.block_level));
		assert_ok(iforest_block_forest_truncate(&original.blocks, n));
		for (uint64_t at = 0; at < n; at += 1 + random_below(&dice, 100))
			assert_ok(iforest_block_forest_extend(&detour, at, 1 + (unsigned)random_below(&dice, 3)));
		assert_ok(iforest_block_forest_extend(&detour, n, 1));
		clear(&image);
		clear(&other);
		assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
		assert_ok(iforest_block_forest_save(&detour, take, &other));
		assert_int_equal(image.n_bytes, other.n_bytes);
		assert_memory_equal(image.bytes, other.bytes, image.n_bytes);
		iforest_block_forest_release(&detour);
		stop(&original);
	}
}

static void a_file_can_be_mapped(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());
	struct original original;
	struct iforest_block_forest opened;
	FILE *file = tmpfile(); /* it has no name, so nothing is left */
	void *mapped;

	(void)state;
	start(&original, &iforest_monoid_max_int64, MOST_ENTRIES, 16, true, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	assert_non_null(file);
	assert_int_equal(fwrite(image.bytes, 1, image.n_bytes, file), image.n_bytes);
	assert_int_equal(fflush(file), 0);
	mapped = mmap(NULL, image.n_bytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	assert_true(mapped != MAP_FAILED);
	assert_ok(iforest_block_forest_open(&opened, original.sample.kind, &original.sample.of, mapped, image.n_bytes, true));
	assert_answers(&opened, &original.sample, &dice);
	iforest_block_forest_release(&opened);
	assert_int_equal(munmap(mapped, image.n_bytes), 0);
	fclose(file);
	stop(&original);
}

static uint64_t word(const struct image *image, uint64_t offset)
{
	uint64_t x;

	memcpy(&x, image->bytes + offset, sizeof x);
	return x;
}

/* The table in image.h, and what it says of slots and times. */
static void bytes_are_where_they_are_said_to_be(void **state)
{
	static struct image image;
	static const uint32_t numbers[2] = { 1, 0x01020304 }; /* version, byte order */
	struct random dice = random_from(random_seed());
	struct original original;
	uint64_t times_at = IFOREST_IMAGE_SLOTS + 49 * 3 + 5; /* 49 slots of 3 bytes are 147: the next multiple of 8 is 152 */

	(void)state;
	start(&original, &byte_kind, 103, 4, true, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	assert_memory_equal(image.bytes, "IFforest", 8);
	assert_memory_equal(image.bytes + 8, numbers, sizeof numbers);
	assert_true(word(&image, 16) == 3 && word(&image, 24) == 25 && word(&image, 32) == 103 && word(&image, 40) == 4);
	assert_int_equal(word(&image, 72), 1);
	assert_int_equal(image.n_bytes, times_at + 25 * sizeof(int64_t));
	for (uint64_t block = 0; block < 25; block++) {
		union block_state expected;

		block_sample_fold(&original.sample, 4 * block, 4 * block + 4, &expected);
		assert_memory_equal(image.bytes + IFOREST_IMAGE_SLOTS + 2 * block * 3, &expected, 3);
		assert_int_equal((int64_t)word(&image, times_at + block * 8), original.sample.entries[4 * block].time);
	}
	assert_memory_equal(image.bytes + IFOREST_IMAGE_SLOTS + 31 * 3, "\0\0\0", 3); /* of leaves 0 to 31, which there are not */
	stop(&original);
}

/* Of the first 16 bytes it is clear what they say; of the rest the checksum says that they are not what was written. */
static void every_byte_of_the_header_counts(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());
	struct original original;
	struct iforest_block_forest opened;

	(void)state;
	start(&original, &affine_kind, 500, 4, true, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	for (unsigned i = 0; i < HEADER_BYTES; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct iforest_block_forest untouched;

			memset(&opened, 0x5A, sizeof opened);
			memcpy(&untouched, &opened, sizeof opened);
			image.bytes[i] ^= (uint8_t)(1u << bit);
			assert_status(open_blocks(&opened, &original, &image, bit % 2),
				      i >= 8 && i < 16 ? IFOREST_FORMAT : IFOREST_CORRUPT);
			assert_memory_equal(&opened, &untouched, sizeof opened);
			image.bytes[i] ^= (uint8_t)(1u << bit);
		}
	assert_ok(open_blocks(&opened, &original, &image, true));
	iforest_block_forest_release(&opened);
	stop(&original);
}

/* Of slots and times only who asks for all is told. */
static void every_byte_after_it_counts(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());
	struct original original;
	struct iforest_block_forest opened;

	(void)state;
	start(&original, &iforest_monoid_max_int64, 300, 16, true, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	assert_int_equal(image.n_bytes, IFOREST_IMAGE_SLOTS + 35 * sizeof(struct iforest_extreme) + 18 * sizeof(int64_t));
	for (uint64_t i = IFOREST_IMAGE_SLOTS; i < image.n_bytes; i++) {
		image.bytes[i] ^= (uint8_t)(1u << random_below(&dice, 8));
		assert_status(open_blocks(&opened, &original, &image, true), IFOREST_CORRUPT);
		assert_ok(open_blocks(&opened, &original, &image, false));
		iforest_block_forest_release(&opened);
		clear(&image);
		assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	}
	stop(&original);
}

static void every_length_that_is_too_short(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned way = 0; way < 4; way++) { /* times begin at a multiple of 8: after states of 3 bytes there is a gap */
		struct original original;
		struct iforest_block_forest opened;
		uint64_t n_bytes;

		start(&original, way & 1 ? &byte_kind : &iforest_monoid_sum_int64, 100, 4, way & 2, &dice);
		clear(&image);
		assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
		n_bytes = image.n_bytes;
		for (image.n_bytes = 0; image.n_bytes < n_bytes; image.n_bytes++) {
			uint8_t *copy = aligned_alloc(16, (image.n_bytes + 16) & ~UINT64_C(15));

			assert_non_null(copy); /* of its own, so that reading behind it is found */
			memcpy(copy, image.bytes, image.n_bytes);
			assert_status(iforest_block_forest_open(&opened, original.sample.kind, &original.sample.of, copy,
								image.n_bytes, image.n_bytes % 2),
				      IFOREST_CORRUPT);
			free(copy);
		}
		image.n_bytes = n_bytes + 1; /* more is no harm */
		assert_ok(open_blocks(&opened, &original, &image, true));
		iforest_block_forest_release(&opened);
		stop(&original);
	}
}

static void images_of_something_else(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());
	struct iforest_monoid other_name = affine_kind, other_size = affine_kind;
	struct original original, timeless;
	struct iforest_block_forest blocks;
	struct iforest_forest forest;

	(void)state;
	other_name.name = "affine2";
	other_size.state_bytes += 8;
	start(&original, &affine_kind, 300, 4, true, &dice);
	start(&timeless, &affine_kind, 300, 4, false, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	for (unsigned offset = 1; offset < 16; offset++) {
		memmove(image.bytes + offset, image.bytes + offset - 1, image.n_bytes);
		assert_status(iforest_block_forest_open(&blocks, &affine_kind, &original.sample.of, image.bytes + offset,
							image.n_bytes, true),
			      IFOREST_ARGUMENT);
	}
	memmove(image.bytes + 16, image.bytes + 15, image.n_bytes);
	assert_ok(iforest_block_forest_open(&blocks, &affine_kind, &original.sample.of, image.bytes + 16, image.n_bytes, true));
	memmove(image.bytes, image.bytes + 16, image.n_bytes);
	assert_status(iforest_block_forest_open(&blocks, &other_name, &original.sample.of, image.bytes, image.n_bytes, true),
		      IFOREST_FORMAT);
	assert_status(iforest_block_forest_open(&blocks, &other_size, &original.sample.of, image.bytes, image.n_bytes, true),
		      IFOREST_FORMAT);
	assert_status(iforest_forest_open(&forest, &affine_kind, image.bytes, image.n_bytes, true), IFOREST_FORMAT);
	assert_status(open_blocks(&blocks, &timeless, &image, true), IFOREST_FORMAT);
	clear(&image);
	assert_ok(iforest_block_forest_save(&timeless.blocks, take, &image));
	assert_status(open_blocks(&blocks, &original, &image, true), IFOREST_FORMAT);
	assert_status(iforest_forest_open(&forest, &affine_kind, image.bytes, image.n_bytes, true), IFOREST_FORMAT);
	assert_ok(open_blocks(&blocks, &timeless, &image, true));
	stop(&original);
	stop(&timeless);
}

static void a_writer_that_fails(void **state)
{
	static struct image image;
	struct random dice = random_from(random_seed());
	struct original original;
	unsigned n_calls;

	(void)state;
	start(&original, &affine_kind, 300, 4, true, &dice);
	clear(&image);
	assert_ok(iforest_block_forest_save(&original.blocks, take, &image));
	n_calls = image.n_calls;
	assert_true(n_calls >= 3);
	for (unsigned nth = 1; nth <= n_calls; nth++) {
		clear(&image);
		image.fail_at = nth;
		assert_status(iforest_block_forest_save(&original.blocks, take, &image), IFOREST_IO);
		assert_int_equal(image.n_calls, nth); /* and it is not asked again */
	}
	assert_answers(&original.blocks, &original.sample, &dice);
	stop(&original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_and_opened_answers_are_equal),
		cmocka_unit_test(plain_forests),
		cmocka_unit_test(equal_forests_have_equal_images),
		cmocka_unit_test(a_file_can_be_mapped),
		cmocka_unit_test(bytes_are_where_they_are_said_to_be),
		cmocka_unit_test(every_byte_of_the_header_counts),
		cmocka_unit_test(every_byte_after_it_counts),
		cmocka_unit_test(every_length_that_is_too_short),
		cmocka_unit_test(images_of_something_else),
		cmocka_unit_test(a_writer_that_fails),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
