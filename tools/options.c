#include "tools/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/terminal.h"

/* Names of tables as SQL writes them: spans, public.spans, "My Schema"."Spans". */

/* Returns the name with every part in quotes, ready for SQL. Letters that were not in quotes become lower case, as in SQL.
 * The caller frees the name. If the text is no name, returns NULL with *problem set to a literal. */
char *table_name_parse(const char *text, const char **problem);

/* Appends the part up to a '.' or the end to *out, in quotes. Returns what follows it; NULL if it is not a part of a name. */
static const char *parse_part(const char *text, char **out)
{
	bool in_quotes = *text == '"';
	const char *start = *out + 1;

	*(*out)++ = '"';
	if (in_quotes) {
		for (text++; *text && (*text != '"' || text[1] == '"'); text++) {
			if (*text == '"')
				*(*out)++ = *text++;
			*(*out)++ = *text;
		}
		if (*text++ != '"')
			return NULL;
	} else {
		for (; *text && *text != '.'; text++) {
			if (*text == '"')
				return NULL;
			*(*out)++ = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
		}
	}
	if (*out == start || (*text && *text != '.'))
		return NULL;
	*(*out)++ = '"';
	return text;
}

char *table_name_parse(const char *text, const char **problem)
{
	/* each of two parts gains at most two quotes, and nothing else becomes longer */
	char *name = malloc(strlen(text) + 8), *out = name;

	*problem = "is more than fits into memory";
	if (!name)
		return NULL;
	*problem = "is not the name of a table; write TABLE, SCHEMA.TABLE, or parts in double quotes";
	text = parse_part(text, &out);
	if (text && *text == '.') {
		*out++ = '.';
		text = parse_part(text + 1, &out);
	}
	if (text && !*text) {
		*out = '\0';
		return name;
	}
	free(name);
	return NULL;
}

enum { DEFAULT_BATCH_ROWS = 100000 };

enum option_key {
	OPTION_HELP = 'h',
	OPTION_DBNAME = 'd',
	OPTION_TABLE = 256, /* the first of N_TABLES options, one for each table */
	OPTION_RESUME = OPTION_TABLE + N_TABLES,
	OPTION_REPLACE,
	OPTION_NO_ARGS,
	OPTION_NO_INDEX,
	OPTION_BATCH,
	OPTION_MAX_ROWS,
	OPTION_MAX_BYTES,
	OPTION_VERSION
};

static const struct option long_options[] = {
	{ "dbname", required_argument, NULL, OPTION_DBNAME },
	{ "spans", required_argument, NULL, OPTION_TABLE + TABLE_SPANS },
	{ "counters", required_argument, NULL, OPTION_TABLE + TABLE_COUNTERS },
	{ "instants", required_argument, NULL, OPTION_TABLE + TABLE_INSTANTS },
	{ "flows", required_argument, NULL, OPTION_TABLE + TABLE_FLOWS },
	{ "tracks", required_argument, NULL, OPTION_TABLE + TABLE_TRACKS },
	{ "left-out", required_argument, NULL, OPTION_TABLE + TABLE_LEFT_OUT },
	{ "resume", no_argument, NULL, OPTION_RESUME },
	{ "replace", no_argument, NULL, OPTION_REPLACE },
	{ "no-args", no_argument, NULL, OPTION_NO_ARGS },
	{ "no-index", no_argument, NULL, OPTION_NO_INDEX },
	{ "batch", required_argument, NULL, OPTION_BATCH },
	{ "max-rows", required_argument, NULL, OPTION_MAX_ROWS },
	{ "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"trace2pg loads a trace (plain or gzip) into PostgreSQL and indexes it with iforest.\n"
	"\n"
	"usage: trace2pg [options] FILE        (FILE may be -, standard input)\n"
	"\n"
	"  -d, --dbname CONNINFO   the database: a name, a connection string or a URI (otherwise PGDATABASE, PGHOST, ...)\n"
	"      --spans TABLE       the table of spans (spans); SCHEMA.TABLE, and \"quotes\" as in SQL\n"
	"      --counters TABLE    the table of counter samples (counters)\n"
	"      --instants TABLE, --flows TABLE, --tracks TABLE, --left-out TABLE    the other tables\n"
	"      --replace           drop the tables if they exist\n"
	"      --resume            go on behind the rows that a broken load has committed\n"
	"      --no-args           leave the arguments of spans and instants out\n"
	"      --no-index          make no iforest indexes\n"
	"      --batch ROWS        rows of one transaction (100000)\n"
	"      --max-rows ROWS     stop at more rows, of all tables together\n"
	"      --max-bytes BYTES   stop at more bytes of the trace, unpacked\n"
	"  -h, --help              this\n"
	"      --version           the version\n"
	"\n"
	"Exit status: 0 loaded, 1 not all is loaded, 2 wrong usage, 3 all is loaded but not indexed or vacuumed,\n"
	"129, 130, 143 interrupted. docs/trace2pg.md has the columns and the rest.\n";

static enum options_answer wrong(const char *what, const char *text)
{
	fprintf(stderr, "trace2pg: %s", what);
	terminal_print(stderr, text);
	fputs("; trace2pg --help shows the usage\n", stderr);
	return OPTIONS_WRONG;
}

/* Says that a text of the command line is not what it is to be. */
static void quote_wrong(const char *what, const char *text, const char *problem)
{
	fprintf(stderr, "trace2pg: %s'", what);
	terminal_print(stderr, text);
	fprintf(stderr, "' %s\n", problem);
}

static bool take_name(struct options *options, int table, const char *text)
{
	const char *problem;

	free(options->tables[table]);
	options->tables[table] = table_name_parse(text, &problem);
	if (!options->tables[table])
		quote_wrong("", text, problem);
	return options->tables[table];
}

/* `what` names the option and what it needs. */
static bool take_number(uint64_t *number, const char *what, const char *text)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text >= '1' && *text <= '9' && !*end && errno == 0)
		return true;
	quote_wrong(what, text, "is none");
	return false;
}

static enum options_answer check(struct options *options, int argc, char **argv)
{
	if (optind == argc)
		return wrong("give the file to load", "");
	if (optind + 1 < argc)
		return wrong("one file at a time, and not also ", argv[optind + 1]);
	options->path = strcmp(argv[optind], "-") == 0 ? "/dev/stdin" : argv[optind];
	if (options->resume && options->replace)
		return wrong("--resume and --replace exclude each other", "");
	for (int i = 0; i < N_TABLES; i++) {
		if (!options->tables[i] && !take_name(options, i, loaded_definitions[i].name))
			return OPTIONS_WRONG;
		for (int k = 0; k < i; k++) {
			if (strcmp(options->tables[i], options->tables[k]) == 0)
				return wrong("what is loaded needs a table each, not two in ", options->tables[i]);
		}
	}
	return OPTIONS_RUN;
}

enum options_answer options_parse(struct options *options, int argc, char **argv)
{
	const char *hidden = terminal_hidden_option(argc, argv);
	int option;

	*options = (struct options){ .batch_rows = DEFAULT_BATCH_ROWS, .args = true, .index = true };
	if (hidden)
		return wrong("no option is called ", hidden);
	while ((option = getopt_long(argc, argv, "d:h", long_options, NULL)) != -1) {
		bool is_right = true;

		switch (option) {
		case OPTION_DBNAME:
			options->conninfo = optarg;
			break;
		case OPTION_RESUME:
			options->resume = true;
			break;
		case OPTION_REPLACE:
			options->replace = true;
			break;
		case OPTION_NO_ARGS:
			options->args = false;
			break;
		case OPTION_NO_INDEX:
			options->index = false;
			break;
		case OPTION_BATCH:
			is_right = take_number(&options->batch_rows, "--batch needs a number of rows, and ", optarg);
			break;
		case OPTION_MAX_ROWS:
			is_right = take_number(&options->max_rows, "--max-rows needs a number of rows, and ", optarg);
			break;
		case OPTION_MAX_BYTES:
			is_right = take_number(&options->max_bytes, "--max-bytes needs a number of bytes, and ", optarg);
			break;
		case OPTION_HELP:
			fputs(help, stdout);
			return OPTIONS_HELP;
		case OPTION_VERSION:
			puts("trace2pg " IFOREST_VERSION);
			return OPTIONS_HELP;
		default:
			/* getopt has already reported an option that does not exist */
			is_right = option >= OPTION_TABLE && option < OPTION_TABLE + N_TABLES &&
				   take_name(options, option - OPTION_TABLE, optarg);
		}
		if (!is_right)
			return OPTIONS_WRONG;
	}
	return check(options, argc, argv);
}

void options_release(struct options *options)
{
	for (int i = 0; i < N_TABLES; i++)
		free(options->tables[i]);
}
