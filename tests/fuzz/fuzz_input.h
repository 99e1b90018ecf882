/* fuzz_input.h -- how a fuzz input is read: damage to stored bytes rather than stored bytes, so that short inputs reach deep.
 *
 *   byte 0    which page (fuzz_page; fuzz_manifest ignores it)
 *   byte 1    1: a right checksum is put on after the damage; 2: what follows replaces the bytes as a whole; 4: runs are merged too
 *   then      with 2: the new bytes; else damage, 3 bytes each: offset u16 (modulo the length), new value u8
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_HEADER = 2, FUZZ_SEAL = 1, FUZZ_REPLACE = 2, FUZZ_MERGE = 4 };

static inline bool fuzz_seals(const uint8_t *data) { return data[1] & FUZZ_SEAL; }
static inline bool fuzz_replaces(const uint8_t *data) { return data[1] & FUZZ_REPLACE; }
static inline bool fuzz_merges(const uint8_t *data) { return data[1] & FUZZ_MERGE; }

static inline void fuzz_damage(uint8_t *bytes, uint32_t n_bytes, const uint8_t *data, size_t n_data)
{
	for (size_t i = FUZZ_HEADER; i + 3 <= n_data; i += 3)
		bytes[(data[i] | data[i + 1] << 8) % n_bytes] = data[i + 2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data);

#endif
