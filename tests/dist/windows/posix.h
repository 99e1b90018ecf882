/* tests/dist/windows/posix.h -- What the tests take of POSIX and Windows has not. Included before all else by -include. */
#ifndef WINDOWS_POSIX_H
#define WINDOWS_POSIX_H

#include <stddef.h>
#include <stdio.h>
#include <time.h>

char *mkdtemp(char *template);
struct tm *gmtime_r(const time_t *time, struct tm *result);
FILE *open_memstream(char **text, size_t *n_bytes);

/* Fills in the text of a stream that open_memstream() has made. */
int posix_fclose(FILE *file);

#define fclose posix_fclose

#endif
