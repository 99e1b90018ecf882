/* base/xxh64.h -- XXH64 hash of bytes. */
#ifndef IFOREST_BASE_XXH64_H
#define IFOREST_BASE_XXH64_H

#include <stdint.h>

/* Returns the XXH64 hash with seed 0 (Yann Collet's specification, github.com/Cyan4973/xxHash). */
uint64_t iforest_xxh64(const uint8_t *bytes, uint64_t n_bytes);

#endif
