/* bench/pg_session.h -- Session of a benchmark with a PostgreSQL server, and the printing of figures of contenders.
 *
 * Any error ends the program.
 */
#ifndef PG_SESSION_H
#define PG_SESSION_H

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NO_INDEX, BTREE, IFOREST, N_CONTENDERS };
enum { MOST_ROUNDS = 31 };

extern const char *const contenders[N_CONTENDERS];
extern PGconn *connection;     /* of the functions that are given none */
extern int n_rounds;

PGconn *new_connection(void);
PGresult *checked(PGconn *from, PGresult *result, const char *sql);
void run(const char *sql);
#define RUN(...) do { char sql_[2048]; snprintf(sql_, sizeof sql_, __VA_ARGS__); run(sql_); } while (0)

/* The first column of the first row. */
void get_text(const char *sql, char *to, size_t size);
double get_number(const char *sql);

double now_seconds(void);

/* Processor time that the server's processes of some connections have used. */
double processor_seconds(PGconn *const *of, int n);

int compare_doubles(const void *a, const void *b);
void heading(const char *what);

/* A line of figures; the first contender's only where it is not below zero. */
void line(const char *what, const char *unit, double none, double btree, double iforest);

/* A line of the medians over all rounds, of the contenders from the first one on. */
void line_of_medians(const char *what, const char *unit, double figures[N_CONTENDERS][MOST_ROUNDS], int first);

/* Waits for the worker that may still be merging what was measured, and makes a checkpoint. */
void settle(void);

/* Ends the program unless a scan through the table's index gives what the table holds. */
void compare_answers(const char *table, long expected);

/* Says what has become of an iforest index. */
void print_shape(const char *index);

/* FNV-1a of the texts of a row, going on from a digest, or from START_OF_DIGEST. */
#define START_OF_DIGEST UINT64_C(14695981039346656037)
uint64_t digest_of_row(const PGresult *result, int row, uint64_t digest);

#endif
