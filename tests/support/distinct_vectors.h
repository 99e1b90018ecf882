/* tests/support/distinct_vectors.h -- Queries that both engines understand, with the expected distinct sketches and estimates.
 *
 * A sketch is described by its length and its first bytes, which include the checksum of the rest. A program that is not part
 * of the tests computed them as strings of bits, from the specifications of XXH64 and of FORMAT.md. */
#ifndef IFOREST_DISTINCT_VECTORS_H
#define IFOREST_DISTINCT_VECTORS_H

#define DISTINCT_NUMBERS "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) "

static const struct distinct_vector {
	const char *sql; /* returns the sketch as s */
	unsigned n_bytes;
	const char *start; /* 24 hexadecimal digits */
	int n;             /* the estimated number of values */
} distinct_vectors[] = {
	{ "SELECT iforest_distinct(v) AS s FROM (SELECT 0 AS v UNION ALL SELECT NULL) AS a",
	  16, "4946686cf94f35fb010c0000", 1 },
	{ "SELECT iforest_distinct(v) AS s FROM (SELECT CAST(1 AS double precision) / 4 AS v UNION ALL SELECT -3) AS a",
	  20, "4946686c3160e1b1010c0000", 2 },
	{ "SELECT iforest_distinct(v) AS s FROM (SELECT -9223372036854775807 - 1 AS v UNION ALL SELECT 9223372036854775807) AS a",
	  20, "4946686c03731a46010c0000", 2 },
	{ "SELECT iforest_distinct(v) AS s FROM (SELECT 'a' AS v UNION ALL SELECT '' UNION ALL SELECT 'a longer text, of more than thirty-two bytes: ü世') AS a",
	  24, "4946686c05f4eaaa010c0000", 3 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct(x % 700) AS s FROM n",
	  2812, "4946686cf5fb6135010c0000", 700 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct(x % 997 * (x % 89)) AS s FROM n",
	  3084, "4946686ceb010422010c0100", 13935 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct(x * 31) AS s FROM n",
	  3084, "4946686c4874984c010c0100", 19786 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct(CAST(x AS double precision) / 8) AS s FROM n",
	  3084, "4946686cf3e871e7010c0100", 20096 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct('user ' || (x % 5000)) AS s FROM n",
	  3084, "4946686c78aff302010c0100", 4986 },
	{ DISTINCT_NUMBERS "SELECT iforest_distinct_merge(s) AS s FROM (SELECT x % 7, iforest_distinct(x) AS s FROM n GROUP BY x % 7 UNION ALL SELECT 8, iforest_distinct('t' || x) FROM n WHERE x < 100) AS a",
	  3084, "4946686c45ffaf84010c0100", 20265 },
};

#endif
