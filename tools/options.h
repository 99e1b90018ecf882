/* tools/options.h -- Command line of trace2pg. */
#ifndef IFOREST_OPTIONS_H
#define IFOREST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rows.h"

struct options {
	const char *path;
	const char *conninfo;	/* NULL: only the PG* environment */
	char *tables[N_TABLES]; /* names, in quotes as SQL needs them; owned */
	uint64_t batch_rows;	/* of one transaction, at most */
	uint64_t max_rows;	/* of all tables; 0: no limit */
	uint64_t max_bytes;	/* of the unpacked file; 0: no limit */
	bool resume, replace;
	bool args;  /* load the arguments of spans and instants */
	bool index; /* create the indexes */
};

enum options_answer { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* Parses the command line. Prints help to standard output, errors to standard error. Release the options in any case. */
enum options_answer options_parse(struct options *options, int argc, char **argv);
void options_release(struct options *options);

#endif
