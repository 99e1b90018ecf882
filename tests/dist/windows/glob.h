/* tests/dist/windows/glob.h -- Names that match a pattern, as POSIX has it and Windows has not. */
#ifndef WINDOWS_GLOB_H
#define WINDOWS_GLOB_H

#include <stddef.h>

typedef struct {
	size_t gl_pathc;
	char **gl_pathv;
} glob_t;

/* FOLDER/BEGIN*END alone. 0 if there are any. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found);
void globfree(glob_t *found);

#endif
