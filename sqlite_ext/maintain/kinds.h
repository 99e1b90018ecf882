/* kinds.h -- which value columns of a table are of integers, and which of reals. */
#ifndef IFOREST_SQLITE_KINDS_H
#define IFOREST_SQLITE_KINDS_H

#include "sqlite_ext/follow/snapshot.h"

/* Fills in the fields of an index to be built. A column is one of integers until a real shows up, which its first number may
 * tell; one that is empty, and can hold no number but a real, is one of reals. */
int iforest_kinds_choose(const struct iforest_index *index, const struct iforest_definition *definition,
			 const struct iforest_source *source, struct iforest_fields *fields, struct iforest_error *error);

/* After a real has shown up among integers: the columns of reals are those that hold one. */
int iforest_kinds_widen(const struct iforest_index *index, const struct iforest_definition *definition,
			const struct iforest_source *source, struct iforest_fields *fields, struct iforest_error *error);

#endif
