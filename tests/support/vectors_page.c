#include "tests/support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char page_head[] =
	"# What both engines answer\n\n"
	"`test_vectors --table` writes this page from `tests/vectors/vectors.txt`; the tests fail if it says anything else.\n\n"
	"The questions of that file, over tables with NULLs, negative times, ties and the ends of 64 bits, are asked of an\n"
	"index in SQLite (`spans_if` and tables over it) and of the [functions of an index](postgres_functions.md) in\n"
	"PostgreSQL, with the same names and arguments; a script that looks at every row has computed the answers. Exceptions\n"
	"are tested, too: the engine gives what the file says it gives.\n\n"
	"| what, and how many questions | SQLite | PostgreSQL |\n|---|---|---|\n";

static const char page_rest[] =
	"\nBeyond the file: sketches ([SQLite](sqlite_sketch.md), [PostgreSQL](postgres_sketch.md)) and\n"
	"[distinct sketches](sqlite_distinct.md) are the same bytes in both. PostgreSQL answers `percentile_cont` and\n"
	"`percentile_disc` themselves, which SQLite does not have, and [`count(DISTINCT x)`](postgres_distinct.md) where a\n"
	"setting allows it. [Points of line charts](charts.md) are\n"
	"chosen alike. `iforest_advise` proposes an index for a query in both ([SQLite](sqlite_advise.md),\n"
	"[PostgreSQL](advisor.md)). SQLite alone has [export](sqlite_export.md) and [cover](sqlite_expert.md). In PostgreSQL\n"
	"[ordinary SQL](postgres_aggregates.md) over the table is answered from the index, whatever its time type, and ordinary\n"
	"scans use it; so are [totals, joins with dimensions and unions](postgres_joins.md), which in SQLite are SQL over the rows that\n"
	"`spans_if` gives by series. Times may be reals in both; SQLite has [spans over them](sqlite_times.md) and all of\n"
	"its tables, PostgreSQL ordinary SQL alone. Times as text are taken as they are by SQLite, and by\n"
	"[a function](postgres.md#times-as-text) in PostgreSQL.\n";

static unsigned count_questions(const struct vectors *vectors, const struct vector_feature *feature, int differing_in)
{
	unsigned n = 0;

	for (unsigned i = 0; i < vectors->n_questions; i++)
		n += vectors->questions[i].feature == feature &&
		     (differing_in < 0 || vectors->questions[i].differs_why[differing_in]);
	return n;
}

/* Prints each reason once. */
static void print_differences(FILE *to, const struct vectors *vectors, const struct vector_feature *feature, unsigned engine)
{
	const char *last = "";

	for (unsigned i = 0; i < vectors->n_questions; i++) {
		const char *why = vectors->questions[i].differs_why[engine];

		if (vectors->questions[i].feature != feature || !why || strcmp(why, last) == 0)
			continue;
		fprintf(to, "%s %s", *last ? ";" : "", why);
		last = why;
	}
}

static void print_state(FILE *to, const struct vectors *vectors, const struct vector_feature *feature, unsigned engine)
{
	unsigned n_differ = count_questions(vectors, feature, (int)engine);

	if (feature->states[engine] == VECTOR_ABSENT)
		fprintf(to, " | not there: %s", feature->reasons[engine]);
	else if (feature->states[engine] == VECTOR_INSTEAD)
		fprintf(to, " | yes: %s", feature->reasons[engine]);
	else if (n_differ == 0)
		fprintf(to, " | yes");
	else
		fprintf(to, " | yes, but in %u:", n_differ);
	print_differences(to, vectors, feature, engine);
}

static void print_names(FILE *to, const struct vectors *vectors)
{
	fprintf(to, "\n| called | in PostgreSQL | |\n|---|---|---|\n");
	for (unsigned i = 0; i < vectors->n_names; i++) {
		const struct vector_name *name = &vectors->names[i];
		const char *any = name->is_ending ? "..." : "";

		fprintf(to, "| `%s%s` | `%s%s` | %s |\n", any, name->ours, any, name->theirs, name->reason);
	}
}

char *vectors_page(const struct vectors *vectors)
{
	char *page = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&page, &n_bytes);

	assert_non_null(to);
	fprintf(to, "%s", page_head);
	for (unsigned i = 0; i < vectors->n_features; i++) {
		const struct vector_feature *feature = &vectors->features[i];

		fprintf(to, "| %s (%u)", feature->title, count_questions(vectors, feature, -1));
		print_state(to, vectors, feature, VECTORS_SQLITE);
		print_state(to, vectors, feature, VECTORS_POSTGRES);
		fprintf(to, " |\n");
	}
	print_names(to, vectors);
	fprintf(to, "%s", page_rest);
	fclose(to);
	return page;
}
