/* fuzz_input.h -- what a fuzz target is; and how fuzz_page and fuzz_manifest read an input: damage to stored bytes rather than
 * stored bytes, so that short inputs reach deep.
 *
 *   byte 0    which page (fuzz_page; fuzz_manifest ignores it)
 *   byte 1    1: a right checksum is put on after the damage; 2: what follows replaces the bytes as a whole; 4: runs are merged
 *   too;
 *             8: pages are kept with their maxima; 16: pages are lent
 *   then      with 2: the new bytes; else damage, 3 bytes each: offset u16 (modulo the length), new value u8
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/random.h"

enum { FUZZ_HEADER = 2, FUZZ_SEAL = 1, FUZZ_REPLACE = 2, FUZZ_HOW = 4 };

static inline bool fuzz_seals(const uint8_t *data) { return data[1] & FUZZ_SEAL; }
static inline bool fuzz_replaces(const uint8_t *data) { return data[1] & FUZZ_REPLACE; }
static inline unsigned fuzz_how(const uint8_t *data) { return data[1] / FUZZ_HOW & 7; } /* as specimen_exercise() has it */

static inline void fuzz_damage(uint8_t *bytes, uint32_t n_bytes, const uint8_t *data, size_t n_data)
{
	for (size_t i = FUZZ_HEADER; i + 3 <= n_data; i += 3)
		bytes[(data[i] | data[i + 1] << 8) % n_bytes] = data[i + 2];
}

/* What replay.c, which stands in for libFuzzer, needs to know; each target has one. */
struct fuzz_target {
	const char *corpus;  /* a folder of inputs that are all run; NULL: none */
	unsigned n_inputs;   /* random ones usually run */
	/* writes at most FUZZ_MOST_RANDOM bytes; returns how many */
	size_t (*random_input)(struct random *dice, uint8_t *data);
};

enum { FUZZ_MOST_RANDOM = 64 };

extern const struct fuzz_target fuzz_target;

/* The random_input of fuzz_page and fuzz_manifest: mostly a few damaged bytes with a right checksum, the deepest way in; header
 * and directory are hit more often than the rest. */
static inline size_t fuzz_random_damage(struct random *dice, uint8_t *data)
{
	size_t n_damages = 1 + random_below(dice, 6), n = FUZZ_HEADER;

	data[0] = (uint8_t)random_next(dice);
	data[1] = random_chance(dice, 95) ? FUZZ_SEAL : (uint8_t)random_below(dice, 4);
	data[1] |= FUZZ_HOW * ((random_chance(dice, 15) ? 1 : 0) | 2 * (unsigned)random_below(dice, 3));
	for (size_t i = 0; i < n_damages; i++) {
		unsigned offset = (unsigned)random_below(dice, random_chance(dice, 60) ? 128 : 1024);

		data[n++] = (uint8_t)offset;
		data[n++] = (uint8_t)(offset >> 8);
		data[n++] =
			random_chance(dice, 30) ? (uint8_t)(random_chance(dice, 50) ? 0xff : 0) : (uint8_t)random_next(dice);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data);

#endif
