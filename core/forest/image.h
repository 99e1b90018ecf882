/* forest/image.h -- Byte image of a forest: written to a file, and opened in memory or in a mapping without parsing.
 *
 * All numbers and states are as the machine has them: an image is read where it was written, or by a machine of the same byte
 * order and layout of structs. Entries under blocks are the caller's to keep. Bytes: FORMAT.md, "Image of a forest in memory".
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
