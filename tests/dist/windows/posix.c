#define POSIX_C
#include "posix.h"

#include <dirent.h>
#include <direct.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "ftw.h"

enum { PATH_BYTES = 1000, MOST_STREAMS = 8 };

char *mkdtemp(char *template)
{
	return _mktemp(template) && _mkdir(template) == 0 ? template : NULL;
}

struct tm *gmtime_r(const time_t *time, struct tm *result)
{
	return gmtime_s(result, time) ? NULL : result;
}

int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *), int n_open, int flags)
{
	DIR *folder = opendir(path);
	struct FTW at = { 0 };

	if (!folder)
		return visit(path, NULL, 0, &at);
	for (struct dirent *entry; (entry = readdir(folder));) {
		char name[PATH_BYTES];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		nftw(name, visit, n_open, flags);
	}
	closedir(folder);
	return _rmdir(path);
}

/* Streams into memory are files until they are closed. */
static struct {
	FILE *file;
	char **text;
	size_t *n_bytes;
} streams[MOST_STREAMS];

FILE *open_memstream(char **text, size_t *n_bytes)
{
	for (int i = 0; i < MOST_STREAMS; i++) {
		char *name;

		if (streams[i].file)
			continue;
		name = _tempnam(NULL, "test");
		streams[i].file = name ? fopen(name, "w+bTD") : NULL;
		streams[i].text = text;
		streams[i].n_bytes = n_bytes;
		free(name);
		return streams[i].file;
	}
	return NULL;
}

int posix_fclose(FILE *file)
{
	for (int i = 0; file && i < MOST_STREAMS; i++) {
		if (streams[i].file != file)
			continue;
		*streams[i].n_bytes = (size_t)ftell(file);
		*streams[i].text = calloc(1, *streams[i].n_bytes + 1);
		rewind(file);
		if (fread(*streams[i].text, 1, *streams[i].n_bytes, file) != *streams[i].n_bytes)
			(*streams[i].text)[0] = '\0';
		streams[i].file = NULL;
	}
	return fclose(file);
}
