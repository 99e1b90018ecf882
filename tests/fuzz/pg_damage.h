/* pg_damage.h -- damage to the file of an iforest index in PostgreSQL, at random: bytes, fields and whole pages.
 *
 * Written from FORMAT.md, without the code under test.
 */
#ifndef TESTS_FUZZ_PG_DAMAGE_H
#define TESTS_FUZZ_PG_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/random.h"

enum { DAMAGE_BLOCK_BYTES = 8192, DAMAGE_MOST_BLOCKS = 512 };

/* A file, of which the first n_bytes are in use, of an index with so many value columns. */
struct damage_file {
	unsigned n_values;
	uint8_t bytes[DAMAGE_MOST_BLOCKS * DAMAGE_BLOCK_BYTES];
	size_t n_bytes;
};

/* What was done to a file. */
struct damage {
	char words[1000];   /* for a report */
	const char *kind;   /* of the page that was chosen first, "pending" say */
	bool is_forged;     /* checksums of the index were made right as well, or a page is an older one: answers may differ */
};

/* Damages the file. `earlier` is the same index at a moment before: a write that was lost leaves a page of that. has_checksums:
 * the cluster's pages bear PostgreSQL's checksums, which are made right mostly. The same dice give the same damage. */
void damage_file(struct damage *damage, struct damage_file *file, const struct damage_file *earlier, bool has_checksums,
		 struct random *dice);

/* Does the file have a page of each kind (1 to 7 in the bytes of FORMAT.md)? Returns a bit for each. */
unsigned damage_kinds(const struct damage_file *file);

#endif
