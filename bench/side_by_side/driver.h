/* bench/side_by_side/driver.h -- Driver of one system: a program that opens it and obeys commands from standard input, a
 * line each, in fields separated by tabs.
 *
 *   do    WORK SQL     runs it, once
 *   load  WORK PATH    loads the CSV file into the table spans, the usual quick way
 *   ask   WORK SQL     asks it; lines of one WORK that follow each other are asked in turn, again and again
 *   frame WORK SQL     asks it; lines of one WORK are asked one after the other, once. A second line has the 95th percentile
 *   size  WORK SQL     the number that it gives
 *   pages WORK SQL     how many pages a new connection asks its engine for to answer it
 *   first, same - SQL  of the two the answers must be the same, or the driver fails
 *
 * and those of clients.h. In what is asked $from and $to stand for the ends of what a dashboard shows, which move on with the
 * rows that are appended.
 *
 * For each work, but those called -, a line on standard output: WORK,ROWS,NUMBER,MILLISECONDS,TIMES,ANSWER. ROWS is how many
 * rows came, NUMBER that of `size` and `pages`, MILLISECONDS the median of TIMES askings, from SQL to the last row. All are
 * asked once before, for the answer; where that takes over two seconds (each frame on average), it is what counts. ANSWER
 * stands for all rows in any order: their texts, each cell followed by |, are hashed (FNV-1a, twice 32 bits with two bases)
 * and the hashes added up. A number with a fraction is a text of three decimals, without those of a whole one. duckdb.js does
 * the same.
 */
#ifndef BENCH_SIDE_BY_SIDE_DRIVER_H
#define BENCH_SIDE_BY_SIDE_DRIVER_H

#include <stdint.h>
#include <stdio.h>

/* Rows that are looked at. */
struct answer {
	uint32_t sums[2], row[2]; /* of the rows that are complete; of the row that is being added */
	long n_rows;
	double number;            /* the last cell, as a number */
};

/* Adds a cell (NULL: one of no text); then ends the row. */
void answer_cell(struct answer *answer, const char *text);
void answer_end_row(struct answer *answer);

/* Says it and ends the program. */
_Noreturn void driver_fail(const char *what, const char *message);

/* A line of standard output. */
void driver_tell(const char *work, const struct answer *answer, double number, double seconds, int n_times);

/* Of times, which are sorted; 0 of none. */
double driver_quantile(double *times, int n, double q);

double now_seconds(void);

/* The system: what the driver is linked with. Each thread has a connection of its own. All end the program on failure. */
void engine_open(const char *where);
void engine_run(const char *sql);
void engine_load(FILE *rows); /* CSV, in one transaction */
void engine_ask(const char *sql, struct answer *answer); /* NULL: every cell is fetched, none looked at */
double engine_pages(const char *sql);                    /* pages that were asked for, from a cache or not */
void engine_close(void);

#endif
