#include "tests/fuzz/pg_subjects.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define SUBJECT(name, values, before_sql, after_sql, more_sql)                                                         \
	{ .n_values = values, .index = #name "_if", .before = before_sql,                                              \
	.after = { after_sql, more_sql },                                                                                           \
	.vacuum = "VACUUM (ANALYZE, INDEX_CLEANUP on) " #name, .questions = name##_questions,                         \
	.n_questions = COUNT_OF(name##_questions), .statements = name##_statements, .n_statements = COUNT_OF(name##_statements) }

/* 60 bits that do not pack */
#define NOISE(x) "('x' || left(md5((" x ")::text), 15))::bit(60)::bigint"

#define SHARED_STATEMENTS(name)                                                                                              \
	{ "VACUUM (INDEX_CLEANUP on) " #name, NULL }, { "SELECT iforest_merge('" #name "_if')", NULL },                      \
	{ "SELECT iforest_merge('" #name "_if', true)", NULL }, { "SELECT iforest_check('" #name "_if')", NULL },           \
	{ "DELETE FROM " #name " WHERE id % 40 = 3", NULL },                                                                \
	{ "SELECT * FROM iforest_stats('" #name "_if')", NULL }, { "SELECT * FROM iforest_runs('" #name "_if')", NULL },     \
	{ "SELECT p.* FROM generate_series(0, pg_relation_size('" #name "_if') / 8192 - 1) block,"                          \
	  " iforest_page('" #name "_if', block) p", NULL },                                                                 \
	{ "SELECT count(*) FROM generate_series(0, pg_relation_size('" #name "_if') / 8192 - 1) block,"                     \
	  " LATERAL (SELECT * FROM iforest_page('" #name "_if', block) OFFSET 0) p,"                                        \
	  " LATERAL (SELECT * FROM iforest_entries('" #name "_if', block)"                                                  \
	  " WHERE p.kind = 'pending' OR p.kind = 'run' AND p.level = 0) e", NULL }

/* ---- spans on tracks: series, several runs, removed and pending entries ---- */

#define A_ROWS(name, first, last)                                                                                            \
	"INSERT INTO a(track, ts, dur) SELECT " name ", x * 7919 % 100003, " NOISE("x") " >> 20"                     \
	" FROM generate_series(" #first ", " #last ") x;"

static const struct subject_question a_questions[] = {
	{ "SELECT track, count(*), count(dur), sum(dur), min(dur), max(dur), variance(dur) FROM a GROUP BY track ORDER BY track",
	  "IForestAggregate", NULL },
	{ "SELECT count(*), sum(dur), min(ts), max(ts) FROM a", "IForestAggregate", NULL },
	{ "SELECT track, ts / 10000, count(*), sum(dur), max(dur) FROM a WHERE ts BETWEEN 5000 AND 94000 GROUP BY 1, 2 ORDER BY 1, 2",
	  "IForestAggregate", NULL },
	{ "SELECT count(*), sum(dur), avg(dur) FROM a WHERE track = 'track 2' AND ts >= 20000 AND ts < 77777",
	  "IForestAggregate", NULL },
	{ "SELECT ts / 20000, width_bucket(dur, ARRAY[100000000001, 300000000001]), count(*) FROM a GROUP BY 1, 2 ORDER BY 1, 2",
	  "IForestAggregate", NULL },
	{ "SELECT count(*), regr_count(dur, ts), avg((dur <= 300000000000)::int) FROM a WHERE ts < 70000", "IForestAggregate", NULL },
	{ "SELECT count(*), sum(dur) FROM a WHERE track IN ('new 1', 'track 1') AND dur > 300000000000", "a_if", NULL },
	{ "SELECT ts, dur, id FROM a WHERE track = 'track 3' ORDER BY ts DESC, id LIMIT 40", "Index Scan", NULL },
	{ "SELECT track, ts, id FROM a ORDER BY track, ts, id", "Index Scan", NULL },
	{ "SELECT count(*), sum(id) FROM a WHERE track = 'track 1' AND ts > 30000", "Bitmap Index Scan", "enable_indexscan" },
	{ "SELECT max(ts) FROM a WHERE track = 'track 4'", "a_if", NULL },
	{ "SELECT dur FROM a WHERE track = 'track 0' ORDER BY dur DESC LIMIT 9", "IForestTopK", "enable_sort" },
	{ "SELECT dur FROM a WHERE ts < 90000 AND dur > 5 ORDER BY dur LIMIT 12", "IForestTopK", "enable_sort" },
	{ "SELECT id FROM a WHERE track = 'track 1' AND ts < 50010 AND ts + dur > 400000000000 ORDER BY id", "IForestReach", NULL },
	{ "SELECT * FROM a_if() ORDER BY track", "a_if", NULL },
	{ "SELECT * FROM a_if(1000, 99000, 7, fill => 'last') ORDER BY track, bucket", "a_if", NULL },
	{ "SELECT * FROM a_if(1000, 99000, step => 9999) ORDER BY track, bucket", "a_if", NULL },
	{ "SELECT * FROM a_if_rows(40000, 45000) ORDER BY ctid", "a_if", NULL },
	{ "SELECT * FROM a_if_overlap(10000, 90000, 5) ORDER BY track, bucket", "iforest_overlap", NULL },
	{ "SELECT * FROM a_if_overlap(10000, 90000, step => 20000, fill => 'zero') WHERE track = 'track 2' ORDER BY bucket",
	  "iforest_overlap", NULL },
};

static const struct subject_statement a_statements[] = {
	SHARED_STATEMENTS(a),
	{ A_ROWS("'track ' || x % 5", 3001, 3010), NULL },
	{ A_ROWS("'other ' || x % 9", 3011, 3050), NULL },
	{ A_ROWS("'track ' || x % 6", 3051, 3900), NULL },
	{ "COPY a(track, ts, dur) FROM stdin", "track 1\t700\t55\ncopied\t800\t\\N\ntrack 2\t900\t9000000\n" },
	{ "UPDATE a SET dur = dur + 1 WHERE id % 50 = 1", NULL },
};

/* ---- eight values: nodes of several levels ---- */

#define B_ROWS(first, last)                                                                                                  \
	"INSERT INTO b(ts, v0, v1, v2, v3, v4, v5, v6, v7) SELECT x, " NOISE("x") " >> 8, "                                  \
	"(" NOISE("x + 1") " >> 20) / 4.0, " NOISE("x + 2") " >> 20, " NOISE("x + 3") " >> 20, " NOISE("x + 4") " >> 20, "  \
	NOISE("x + 5") " >> 20, " NOISE("x + 6") " >> 20, " NOISE("x + 7") " FROM generate_series(" #first ", " #last ") x;"

static const struct subject_question b_questions[] = {
	{ "SELECT count(*), sum(v0), min(v0), max(v0), sum(v1), sum(v2), max(v3), min(v4), sum(v5), sum(v6),"
	  " sum(v7), variance(v7) FROM b",
	  "IForestAggregate", NULL },
	{ "SELECT ts / 100, count(*), sum(v0), sum(v1), max(v6), stddev(v0) FROM b WHERE ts >= 77 GROUP BY 1 ORDER BY 1",
	  "IForestAggregate", NULL },
	{ "SELECT count(*), sum(v2), avg(v0) FROM b WHERE ts >= 333 AND ts < 1222", "IForestAggregate", NULL },
	{ "SELECT ts, v0, v7, id FROM b WHERE ts BETWEEN 200 AND 400 ORDER BY ts, id", "Index Scan", NULL },
	{ "SELECT count(*), sum(id) FROM b WHERE ts > 300", "Bitmap Index Scan", "enable_indexscan" },
	{ "SELECT v3 FROM b WHERE ts > 5 ORDER BY v3 DESC LIMIT 8", "IForestTopK", "enable_sort" },
	{ "SELECT v7 FROM b ORDER BY v7 LIMIT 8", "IForestTopK", "enable_sort" },
	{ "SELECT * FROM b_if()", "b_if", NULL },
	{ "SELECT * FROM b_if(0, 2000, 11, fill => 'linear') ORDER BY bucket", "b_if", NULL },
	{ "SELECT * FROM b_if_rows(900, 950) ORDER BY ctid", "b_if", NULL },
};

static const struct subject_statement b_statements[] = {
	SHARED_STATEMENTS(b),
	{ B_ROWS(3001, 3010), NULL },
	{ B_ROWS(3011, 3260), NULL },
	{ B_ROWS(100, 140), NULL },
	{ "COPY b(ts, v0, v1) FROM stdin", "700\t55\t2.5\n800\t\\N\t\\N\n900\t9000000\t-7\n" },
	{ "UPDATE b SET v0 = v0 + 1 WHERE id % 50 = 1", NULL },
};

/* ---- timestamps, ends, NULLs; most rows pending ---- */

#define C_ROWS(first, last)                                                                                                  \
	"INSERT INTO c(ts, fin, load) SELECT CASE WHEN x % 60 > 0 THEN '2024-03-01Z'::timestamptz + x * interval '7 min' END,"  \
	" '2024-03-01Z'::timestamptz + (x * 7 + x * 7919 % 303) * interval '1 min', nullif(x % 31, 5) / 4.0"                      \
	" FROM generate_series(" #first ", " #last ") x;"

static const struct subject_question c_questions[] = {
	{ "SELECT count(*), min(ts), max(ts), min(fin), max(fin), sum(load), count(load) FROM c", "IForestAggregate", NULL },
	{ "SELECT date_trunc('day', ts), count(*), max(fin), sum(load) FROM c WHERE ts >= '2024-03-02' GROUP BY 1 ORDER BY 1",
	  "IForestAggregate", NULL },
	{ "SELECT count(*), avg(load) FROM c WHERE ts >= '2024-03-01 01:01'", "IForestAggregate", NULL },
	{ "SELECT ts, fin, id FROM c WHERE ts < '2024-03-03' ORDER BY ts, id", "Index Scan", NULL },
	{ "SELECT count(*), sum(id) FROM c WHERE ts IS NULL", "Bitmap Index Scan", "enable_indexscan" },
	{ "SELECT fin FROM c WHERE ts > '2024-03-02' ORDER BY fin DESC LIMIT 8", "IForestTopK", "enable_sort" },
	{ "SELECT id FROM c WHERE ts < '2024-03-04' AND fin > '2024-03-03 22:00' ORDER BY id", "IForestReach", NULL },
	{ "SELECT * FROM c_if('2024-03-02', '2024-03-06', step => '6 h', fill => 'last') ORDER BY bucket", "c_if", NULL },
	{ "SELECT * FROM c_if_rows('2024-03-02', '2024-03-03') ORDER BY ctid", "c_if", NULL },
	{ "SELECT * FROM c_if_overlap('2024-03-02', '2024-03-06', 9) ORDER BY bucket", "c_if", NULL },
};

static const struct subject_statement c_statements[] = {
	SHARED_STATEMENTS(c),
	{ C_ROWS(1001, 1010), NULL },
	{ C_ROWS(1, 900), NULL },
	{ "COPY c(ts, fin) FROM stdin", "2024-03-03\t2024-03-04\n\\N\t\\N\n2024-03-05\t2024-03-01\n" },
	{ "UPDATE c SET fin = fin + interval '1 h' WHERE id % 50 = 1", NULL },
};

/* ---- kept sketches, which need 4096 rows ---- */

#define D_ROWS(first, last)                                                                                                  \
	"INSERT INTO d(ts, dur, load, who) SELECT x, x % 31 - 2, x % 77 / 4.0, 'who ' || x % 900 FROM generate_series(" #first ", " #last ") x;"

static const struct subject_question d_questions[] = {
	{ "SELECT md5(iforest_sketch(dur)), md5(iforest_sketch(load)) FROM d", "IForestAggregate", NULL },
	{ "SELECT md5(iforest_sketch(dur)) FROM d WHERE ts > 10", "IForestAggregate", NULL },
	{ "SELECT md5(iforest_sketch(load)), count(*) FROM d WHERE ts < 4200", "IForestAggregate", NULL },
	{ "SELECT ts / 500, iforest_quantile(iforest_sketch(load), 0.9) FROM d GROUP BY 1 ORDER BY 1", "IForestAggregate", NULL },
	{ "SELECT md5(iforest_distinct(who)), iforest_distinct_count(iforest_distinct(dur)), count(who) FROM d", "IForestAggregate", NULL },
	{ "SELECT md5(iforest_distinct(who)), max(dur) FROM d WHERE ts < 4250", "IForestAggregate", NULL },
	{ "SELECT count(*), sum(dur), sum(load), max(ts) FROM d", "IForestAggregate", NULL },
	{ "SELECT * FROM d_if(-100, 5000, 9, fill => 'linear') ORDER BY bucket", "d_if", NULL },
	{ "SELECT * FROM d_if_overlap(0, 4300, 3) ORDER BY bucket", "iforest_overlap", NULL },
};

static const struct subject_statement d_statements[] = {
	SHARED_STATEMENTS(d),
	{ D_ROWS(5001, 5010), NULL },
	{ D_ROWS(1, 400), NULL },
	{ "DELETE FROM d WHERE ts < 300", NULL },
};

const struct subject subjects[] = {
	SUBJECT(a, 1,
		"CREATE TABLE a(id serial, track text, ts bigint NOT NULL, dur bigint);" A_ROWS("'track ' || x % 5", 1, 1400)
		"CREATE INDEX a_if ON a USING iforest (track, ts) INCLUDE (dur)"
		" WITH (duration = 'dur', variance = 'dur', histogram = 'dur(100000000000, 300000000000)', products = 'dur*ts', pending_pages = 4);"
		A_ROWS("'track ' || x % 6", 1401, 1500) "SELECT iforest_merge('a_if');"
		"DELETE FROM a WHERE id % 31 = 5; SELECT iforest_create_functions('a_if')",
		"DELETE FROM a WHERE id = 77;" A_ROWS("CASE WHEN x % 3 = 0 THEN 'new ' || x % 4 ELSE 'track ' || x % 5 END", 1501, 1800),
		A_ROWS("'track ' || x % 4", 1801, 1840)),
	SUBJECT(b, 8,
		"CREATE TABLE b(id serial, ts integer, v0 bigint, v1 float8, v2 float8, v3 float8, v4 float8, v5 float8,"
		" v6 float8, v7 bigint);"
		B_ROWS(1, 2400)
		"CREATE INDEX b_if ON b USING iforest (ts) INCLUDE (v0, v1, v2, v3, v4, v5, v6, v7)"
		" WITH (variance = 'v0, v7', pending_pages = 4); DELETE FROM b WHERE id % 100 = 5;"
		"SELECT iforest_create_functions('b_if')",
		B_ROWS(2401, 2430), B_ROWS(2431, 2440)),
	SUBJECT(c, 2,
		"CREATE TABLE c(id serial, ts timestamptz, fin timestamptz, load float8);" C_ROWS(1, 300)
		"CREATE INDEX c_if ON c USING iforest (ts) INCLUDE (fin, load) WITH (\"end\" = 'fin', pending_pages = 12);"
		"SELECT iforest_create_functions('c_if')",
		C_ROWS(301, 900), C_ROWS(200, 240)),
	SUBJECT(d, 2,
		"CREATE TABLE d(id serial, ts integer, dur integer, load float8, who text);" D_ROWS(1, 4300)
		"CREATE INDEX d_if ON d USING iforest (ts) INCLUDE (dur, load, who)"
		" WITH (duration = 'dur', sketch = 'dur, load', distinct = 'who, dur', pending_pages = 4); SELECT iforest_create_functions('d_if')",
		D_ROWS(4301, 4330), D_ROWS(4331, 4340)),
};

const size_t n_subjects = COUNT_OF(subjects);
