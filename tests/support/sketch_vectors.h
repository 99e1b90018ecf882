/* tests/support/sketch_vectors.h -- Queries that both engines understand, with the expected sketches and the counts read from
 * them.
 *
 * A sketch is described by its length and its first bytes, which include the checksum of the rest. The counts were computed in
 * exact fractions from the definition of a sketch: each number counts as the middle of its bucket. */
#ifndef IFOREST_SKETCH_VECTORS_H
#define IFOREST_SKETCH_VECTORS_H

#define SKETCH_NUMBERS "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) "

static const struct sketch_vector {
	const char *sql;
	unsigned n_bytes;
	const char *start;       /* 22 hexadecimal digits */
} sketch_vectors[] = {
	{ "SELECT iforest_sketch(v) FROM (SELECT 0 AS v) AS a", 15, "4946736b0e06b93c010600" },
	{ "SELECT iforest_sketch(v) FROM (SELECT CAST(0 AS double precision) AS v) AS a", 15, "4946736b2d30d03a010601" },
	{ "SELECT iforest_sketch(v) FROM (SELECT -9223372036854775807 - 1 AS v UNION ALL SELECT 9223372036854775807 UNION ALL SELECT NULL) AS a",
	  19, "4946736bfb1cb03e010600" },
	{ SKETCH_NUMBERS "SELECT iforest_sketch(x % 1000 * (x % 1000)) FROM n", 720, "4946736be3cd75c3010600" },
	{ SKETCH_NUMBERS "SELECT iforest_sketch((x % 997) * (x % 89) - 30000) FROM n", 1160, "4946736bf845f62c010600" },
	{ SKETCH_NUMBERS "SELECT iforest_sketch(CAST(x * x AS double precision) / 7 - 1000) FROM n", 1287, "4946736bdebee18a0106a0" },
	{ SKETCH_NUMBERS "SELECT iforest_sketch(CAST(1e-300 AS double precision) / x) FROM n WHERE x < 500", 327, "4946736bc903eb570106f3" },
	{ SKETCH_NUMBERS "SELECT iforest_sketch_merge(s) FROM (SELECT x % 7, iforest_sketch(x * 31) AS s FROM n GROUP BY x % 7 "
			 "UNION ALL SELECT 8, iforest_sketch(CAST(x AS double precision)) FROM n) AS a", 1268, "4946736bf0be3f8c0106a0" },
};

/* Bounds, as the elements of an array in either engine. */
#define SKETCH_BOUNDS "-20000,-100,0,1,64,100,1000,12345.5,1048576"

/* How many numbers are in each bin between the bounds, and how many are at or below each bound. */
static const struct sketch_counts {
	const char *sql; /* the sketch */
	int bins[10], through[9];
} sketch_counts[] = {
	{ SKETCH_NUMBERS "SELECT iforest_sketch(x % 1000 * (x % 1000)) AS s FROM n",
	  { 0, 0, 0, 20, 140, 40, 440, 1580, 17780, 0 }, { 0, 0, 20, 40, 180, 220, 640, 2220, 20000 } },
	{ SKETCH_NUMBERS "SELECT iforest_sketch((x % 997) * (x % 89) - 30000) AS s FROM n",
	  { 7334, 6824, 24, 2, 23, 10, 213, 2233, 3337, 0 }, { 7334, 14160, 14184, 14184, 14207, 14219, 14430, 16663, 20000 } },
	{ SKETCH_NUMBERS "SELECT iforest_sketch(CAST(x * x AS double precision) / 7 - 1000) AS s FROM n",
	  { 0, 79, 4, 0, 3, 1, 31, 186, 2406, 17290 }, { 0, 79, 83, 83, 86, 87, 118, 304, 2710 } },
	{ "SELECT iforest_sketch(x) AS s FROM (SELECT NULL AS x) AS a", { 0 }, { 0 } },
};

#endif
