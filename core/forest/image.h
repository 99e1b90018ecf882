/* forest/image.h -- Byte image of a forest: written to a file, and opened in memory or in a mapping without parsing.
 *
 *   byte  type
 *   0     u64  magic "IFforest"
 *   8     u32  version of this format: 1
 *   12    u32  0x01020304 in the writer's byte order
 *   16    u64  bytes of a state
 *   24    u64  leaves n
 *   32    u64  entries, of a forest over blocks; else the leaves again
 *   40    u64  entries a block; 1 of a plain forest
 *   48    u64  XXH64 of the kind's name
 *   56    u64  XXH64 of the slots
 *   64    u64  XXH64 of the times of blocks
 *   72    u64  1: there are times of blocks, else 0
 *   80    u64  XXH64 of bytes [0, 80)
 *   88         zeros
 *   128        slots: 2n - 1 states as they stand in memory; those that are not complete are zeros
 *              times: n int64, at the next multiple of 8
 *
 * All numbers and states are as the machine has them: an image is read where it was written, or by a machine of the same byte
 * order and layout of structs. Entries under blocks are the caller's to keep.
 */
#ifndef IFOREST_FOREST_IMAGE_H
#define IFOREST_FOREST_IMAGE_H

#include "core/forest/block_forest.h"

#define IFOREST_IMAGE_SLOTS 128 /* offset of the slots */

/* Takes the next bytes of the image. Returns an error if it could not. */
typedef enum iforest_status iforest_write_bytes(void *context, const void *bytes, size_t n_bytes);

/* Writes the image. Incomplete slots are set to zeros in the forest too; nobody reads them.
 * Errors  those of write. */
enum iforest_status iforest_forest_save(struct iforest_forest *forest, iforest_write_bytes *write, void *context);
enum iforest_status iforest_block_forest_save(struct iforest_block_forest *blocks, iforest_write_bytes *write, void *context);

/* Makes a forest that reads an image, which must outlive it and stay as it is; bytes must be aligned to 16. The forest can be
 * read and released, but not changed. The header is checked; with `all`, so are the checksums of slots and times, which reads
 * all of them. entries must have times if and only if those of the saved forest had.
 * Errors  IFOREST_CORRUPT: not an image, or one that is cut off or damaged; IFOREST_FORMAT: an image of another version, byte
 *         order or kind of aggregate, of the other kind of forest, with times where none are given, or the reverse;
 *         IFOREST_ARGUMENT: bytes are not aligned, or the kind is refused (block_forest.h). The forest is not touched.
 * For a forest over blocks, the caller must check that there are blocks->n_entries entries before it folds any: the checksums
 * tell damage, not whose image it is. */
enum iforest_status iforest_forest_open(struct iforest_forest *forest, const struct iforest_monoid *kind, const void *bytes,
					uint64_t n_bytes, bool all);
enum iforest_status iforest_block_forest_open(struct iforest_block_forest *blocks, const struct iforest_monoid *kind,
					      const struct iforest_entries *entries, const void *bytes, uint64_t n_bytes,
					      bool all);

#endif
