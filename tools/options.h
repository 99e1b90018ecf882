/* tools/options.h -- Command line of trace2pg. */
#ifndef IFOREST_OPTIONS_H
#define IFOREST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rows.h"

struct options {
	const char *path;
	const char *conninfo;	/* NULL: the PG* environment alone */
	char *tables[N_TABLES]; /* names, in quotes as SQL needs them; owned */
	uint64_t batch_rows;	/* of one transaction, at most */
	bool resume, replace;
	bool args;  /* load the arguments of spans and instants */
	bool index; /* make the indexes */
};

enum options_answer { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG };

/* Reads the command line. Help is printed to standard output, what is wrong to standard error. Release in any case. */
enum options_answer options_parse(struct options *options, int argc, char **argv);
void options_release(struct options *options);

#endif
