/* sketch_pages.h -- the sketches kept of a run (core/query/sketch_scan.h), on pages of its own after its last one.
 *
 * They are a stream of bytes, cut into pages of kind IFOREST_KIND_SKETCH, which bear the run's clock number as owner and go
 * with the run. They are written as a whole, again and again in the same place, under the maintenance lock; readers take no
 * lock. Every writing has a stamp of its own, random, on each of its pages: a reader who meets two stamps has read what is
 * being written, or what a crash cut off, and takes it as if nothing were kept.
 *
 *   page    byte  0  u64  run id
 *                 8  u64  stamp
 *                16  u32  length of the stream in bytes
 *                20  u32  0
 *                24  ...  the stream's bytes, as many as there is room for
 *
 *   stream  byte  0  u32  magic 0x73734649, "IFss"
 *                 4  u32  checksum: low half of XXH64, seed 0, over bytes [8, 16 + 24 n)
 *                 8  u32  n: number of sketches
 *                12  u32  0
 *                16  ...  n entries, ascending by value, level, number:
 *                         u64 count of removed entries under the node, u32 number of the node in its level, u32 offset of
 *                         the sketch in the stream, u32 its length, u8 value, u8 level, u16 0
 *                    ...  the sketches (core/model/sketch.h)
 */
#ifndef IFOREST_PG_SKETCH_PAGES_H
#define IFOREST_PG_SKETCH_PAGES_H

#include "pg_ext/storage/index.h"

struct iforest_kept_sketch {
	uint64 n_dead;           /* of its name; so are number, value and level */
	uint32 number;
	uint32 offset, n_bytes;
	uint8 value, level;
	uint8 *bytes;            /* NULL: not read */
};

/* What is kept of a run. */
struct iforest_kept_sketches {
	const struct iforest_run *run;
	uint64 stamp;
	uint32 n;
	struct iforest_kept_sketch *sketches;
};

/* Reads the list, without the sketches themselves; n is 0 where there is none. In the current memory context. run must outlive
 * it. */
void iforest_kept_sketches_read(struct iforest_index *index, const struct iforest_run *run, struct iforest_kept_sketches *kept);

/* Negative, 0, or positive as a stands before b in a list. */
int iforest_kept_sketch_compare(const struct iforest_kept_sketch *a, const struct iforest_kept_sketch *b);

/* Reads a sketch of the list into memory of the current context. False where it has been overwritten since. */
bool iforest_kept_sketch_load(struct iforest_index *index, const struct iforest_kept_sketches *kept,
			      struct iforest_kept_sketch *sketch);

/* Writes a list, which is in order and of which all are loaded, in the place of what was there. Offsets are filled in.
 * Requires  the maintenance lock, or that nobody else knows the index. */
void iforest_kept_sketches_write(struct iforest_index *index, const struct iforest_kept_sketches *kept);

#endif
