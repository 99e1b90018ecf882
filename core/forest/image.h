/* forest/image.h -- Byte image of a forest: written to a file, and opened in memory or in a mapping without parsing.
 *
 * Numbers and states are in the machine's own representation: an image can be read only by a machine of the same byte order and
 * struct layout. The entries of a block forest are not part of it. Bytes: FORMAT.md, "Image of a forest in memory".
 */
#ifndef IFOREST_FOREST_IMAGE_H
#define IFOREST_FOREST_IMAGE_H

#include "core/forest/block_forest.h"

#define IFOREST_IMAGE_SLOTS 128 /* offset of the slots */

/* Writes the next bytes of the image. */
typedef enum iforest_status iforest_write_bytes(void *context, const void *bytes, size_t n_bytes);

/* Writes the image. Zeroes the incomplete slots, in the forest too; nothing reads them.
 * Errors  those of write. */
enum iforest_status iforest_forest_save(struct iforest_forest *forest, iforest_write_bytes *write, void *context);
enum iforest_status iforest_block_forest_save(struct iforest_block_forest *blocks, iforest_write_bytes *write, void *context);

/* Opens a forest that reads an image in place; the image must outlive it, unchanged. The forest can be read and released, but
 * not changed. The header is checked; with `all`, so are the checksums of slots and times, which reads all of them. The caller
 * of iforest_block_forest_open() must check that it has blocks->n_entries entries: checksums detect damage, not a wrong image.
 * Requires  entries have times if and only if those of the saved forest had.
 * Errors    IFOREST_CORRUPT: not an image, or one that is cut off or damaged; IFOREST_FORMAT: an image of another version, byte
 *           order or kind of aggregate, of the other kind of forest, with times where none are given, or the reverse;
 *           IFOREST_ARGUMENT: bytes are not aligned to 16, or the kind is refused (block_forest.h). The forest is then
 *           unchanged. */
enum iforest_status iforest_forest_open(struct iforest_forest *forest, const struct iforest_monoid *kind, const void *bytes,
					uint64_t n_bytes, bool all);
enum iforest_status iforest_block_forest_open(struct iforest_block_forest *blocks, const struct iforest_monoid *kind,
					      const struct iforest_entries *entries, const void *bytes, uint64_t n_bytes,
					      bool all);

#endif
