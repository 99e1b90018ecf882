#include "pg_ext/storage/extents.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/page.h"
#include "pg_ext/storage/pending_entry.h"

#include "tests/pg/storage_layout.h"

#define PLACE(name, type, member)                                                          \
	{                                                                                  \
		name, offsetof(struct type, member), sizeof(((struct type *)NULL)->member) \
	}
#define PLACE_IN_BLOCK(base, name, type, member)                                                    \
	{                                                                                           \
		name, (base) + offsetof(struct type, member), sizeof(((struct type *)NULL)->member) \
	}

enum { SPECIAL = BLCKSZ - sizeof(struct ifp_special), SUM = SPECIAL - sizeof(struct ifp_sum) };

const struct format_place layout_of_special[] = {
	PLACE_IN_BLOCK(SPECIAL, "owner", ifp_special, owner),
	PLACE_IN_BLOCK(SPECIAL, "next", ifp_special, next),
	PLACE_IN_BLOCK(SPECIAL, "last", ifp_special, last),
	PLACE_IN_BLOCK(SPECIAL, "kind", ifp_special, page_type),
	PLACE_IN_BLOCK(SPECIAL, "flags", ifp_special, flags),
	PLACE_IN_BLOCK(SPECIAL, "page id", ifp_special, page_id),
	{ 0 },
};

const struct format_place layout_of_sum[] = {
	PLACE_IN_BLOCK(SUM, "checksum", ifp_sum, checksum),
	PLACE_IN_BLOCK(SUM, "bytes", ifp_sum, n_bytes),
	PLACE_IN_BLOCK(SUM, "has next", ifp_sum, has_next),
	{ 0 },
};

const struct format_place layout_of_meta[] = {
	PLACE("magic", ifp_meta, magic),
	PLACE("version", ifp_meta, version),
	PLACE("index id", ifp_meta, index_id),
	PLACE("removal epoch", ifp_meta, removal_epoch),
	PLACE("manifest id", ifp_meta, manifest_id),
	PLACE("manifest bytes", ifp_meta, manifest_bytes),
	PLACE("slot", ifp_meta, slot),
	PLACE("slot pages", ifp_meta, n_slot_pages),
	PLACE("slots", ifp_meta, slots),
	PLACE("clock", ifp_meta, clock),
	PLACE("worklist below", ifp_meta, worklist_below),
	PLACE("series head", ifp_meta, series_head),
	PLACE("series tail", ifp_meta, series_tail),
	PLACE("open chains", ifp_meta, open),
	PLACE("number of closed chains", ifp_meta, n_closed),
	PLACE("closed chains", ifp_meta, closed),
	{ 0 },
};

const struct format_place layout_of_chain[] = {
	PLACE("clock", ifp_chain, clock),
	PLACE("head", ifp_chain, head),
	PLACE("tail", ifp_chain, tail),
	PLACE("pages", ifp_chain, n_pages),
	{ 0 },
};

const struct format_place layout_of_extent[] = {
	PLACE("start", ifp_extent, start), PLACE("blocks", ifp_extent, n_blocks), PLACE("owner", ifp_extent, owner),
	PLACE("first", ifp_extent, first), PLACE("freed", ifp_extent, freed),	  { 0 },
};

const struct format_place layout_of_fixed_entry[] = {
	PLACE("series", ifp_fixed_entry, series), PLACE("flags", ifp_fixed_entry, flags),
	PLACE("offset", ifp_fixed_entry, offset), PLACE("block", ifp_fixed_entry, block),
	PLACE("zero", ifp_fixed_entry, zero),	  PLACE("time", ifp_fixed_entry, time),
	PLACE("value", ifp_fixed_entry, value),	  { 0 },
};

const struct format_place layout_kinds[] = {
	{ "meta", IFP_PAGE_META, 0 },	    { "manifest", IFP_PAGE_MANIFEST, 0 },
	{ "extents", IFP_PAGE_EXTENTS, 0 }, { "series", IFP_PAGE_SERIES, 0 },
	{ "pending", IFP_PAGE_PENDING, 0 }, { "run", IFP_PAGE_RUN, 0 },
	{ "sketch", IFP_PAGE_SKETCH, 0 },   { 0 },
};

const struct format_place layout_flags[] = {
	{ "the chain is closed", IFP_CHAIN_CLOSED, 0 },
	{ "the page ends with a sum", IFP_PAGE_SUMMED, 0 },
	{ "the entries are packed", IFP_PAGE_PACKED, 0 },
	{ 0 },
};
