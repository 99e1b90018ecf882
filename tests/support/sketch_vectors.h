/* tests/support/sketch_vectors.h -- Queries that both engines understand, and the sketch that each is to give: how many
 * bytes, and the first of them, among which is the checksum of the others. */
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

#endif
