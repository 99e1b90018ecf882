/* bench/side_by_side/clients.h -- Clients of a driver, each a thread with a connection of its own: they refresh a dashboard
 * again and again, and one more appends rows meanwhile.
 *
 * Their commands (driver.h):
 *
 *   connect -    SQL      each of their connections begins with it
 *   panel   -    SQL      a question of the dashboard. A refresh asks all of them, one after the other
 *   upkeep  ROWS SQL      who appends says it after each ROWS rows
 *   next    id   SQL      the number that it gives: the id that the next row to be appended has
 *   next    ts   SQL      its time
 *   next    gap, range N  how far the times of appended rows lie apart; what a dashboard shows
 *   clients WORK NUMBER SECONDS APPENDS
 *                         so many clients refresh, and one appends where APPENDS is 1, for that long; a refresh that has begun
 *                         is awaited. Lines: how many refreshes a second, the median, the 95th percentile; rows a second.
 *
 * $to is the time of the next row, $from is so much before as `next range` says. Rows are appended in the order of time, a
 * thousand in each transaction, the way that `load` loads them. duckdb_clients.js does the same.
 */
#ifndef BENCH_SIDE_BY_SIDE_CLIENTS_H
#define BENCH_SIDE_BY_SIDE_CLIENTS_H

#include <stdbool.h>

/* What engine_open() takes. */
void clients_come_to(const char *where);

/* The question with numbers for $from and $to; to be freed. */
char *clients_expand(const char *question);

/* engine_pages() of a new connection. */
double clients_pages(const char *sql);

/* False if it is no command of theirs. */
bool clients_obey(const char *command, const char *work, const char *argument);

#endif
