#include "posix.h"

#undef fclose

#include <dirent.h>
#include <direct.h>
#include <io.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>

#include "ftw.h"
#include "glob.h"

enum { PATH_BYTES = 1000, MOST_STREAMS = 8, MOST_NAMES = 100 };

char *mkdtemp(char *template)
{
	return _mktemp(template) && _mkdir(template) == 0 ? template : NULL;
}

/* Windows' own knows no years before 1970. Years begin in March here, so that leap days come last. */
struct tm *gmtime_r(const time_t *time, struct tm *result)
{
	long long day = *time / 86400 - (*time % 86400 < 0), second = *time - day * 86400;
	long long from_zero = day + 719468, era = (from_zero - (from_zero < 0 ? 146096 : 0)) / 146097, of_era = from_zero - era * 146097;
	long long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365, of_year = of_era - (365 * year + year / 4 - year / 100);
	long long month = (5 * of_year + 2) / 153;

	*result = (struct tm){ .tm_sec = (int)(second % 60),
			       .tm_min = (int)(second / 60 % 60),
			       .tm_hour = (int)(second / 3600),
			       .tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1),
			       .tm_mon = (int)(month < 10 ? month + 2 : month - 10),
			       .tm_year = (int)(year + era * 400 + (month >= 10) - 1900) };
	return result;
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

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
	const char *begin = strrchr(pattern, '/') + 1, *star = strchr(begin, '*');
	char folder[PATH_BYTES];
	DIR *names;

	(void)flags;
	(void)failed;
	snprintf(folder, sizeof folder, "%.*s", (int)(begin - pattern), pattern);
	*found = (glob_t){ .gl_pathv = calloc(MOST_NAMES, sizeof(char *)) };
	names = opendir(folder);
	for (struct dirent *entry; names && (entry = readdir(names));) {
		size_t length = strlen(entry->d_name);

		if (found->gl_pathc == MOST_NAMES || length < strlen(begin) - 1 || strncmp(entry->d_name, begin, (size_t)(star - begin)) != 0 ||
		    strcmp(entry->d_name + length - strlen(star + 1), star + 1) != 0)
			continue;
		found->gl_pathv[found->gl_pathc] = malloc(PATH_BYTES);
		snprintf(found->gl_pathv[found->gl_pathc++], PATH_BYTES, "%s%s", folder, entry->d_name);
	}
	if (names)
		closedir(names);
	qsort(found->gl_pathv, found->gl_pathc, sizeof(char *), compare_names);
	return found->gl_pathc == 0;
}

void globfree(glob_t *found)
{
	for (size_t i = 0; i < found->gl_pathc; i++)
		free(found->gl_pathv[i]);
	free(found->gl_pathv);
}

/* Streams into memory are files until they are closed. */
static struct {
	FILE *file;
	char **text;
	size_t *n_bytes;
} streams[MOST_STREAMS];

FILE *open_memstream(char **text, size_t *n_bytes)
{
	static unsigned n_opened;

	for (int i = 0; i < MOST_STREAMS; i++) {
		char name[PATH_BYTES];

		if (streams[i].file)
			continue;
		snprintf(name, sizeof name, "%s/stream_%d_%u", getenv("TEMP"), _getpid(), n_opened++); /* others run beside */
		streams[i].file = fopen(name, "w+bTD");
		streams[i].text = text;
		streams[i].n_bytes = n_bytes;
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
