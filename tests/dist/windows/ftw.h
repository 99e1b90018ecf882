/* tests/dist/windows/ftw.h -- What the tests' harness takes of POSIX and Windows has not: folders for a while. */
#ifndef WINDOWS_FTW_H
#define WINDOWS_FTW_H

#include <dirent.h>
#include <direct.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FTW_DEPTH = 1, FTW_PHYS = 2, PATH_BYTES = 1000 };

struct FTW {
	int level;
};

static inline char *mkdtemp(char *template)
{
	return _mktemp(template) && _mkdir(template) == 0 ? template : NULL;
}

/* Names below a folder, and the folder behind them. */
static inline int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *), int n_open, int flags)
{
	DIR *folder = opendir(path);
	struct FTW at = { 0 };

	if (folder) {
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
	return visit(path, NULL, 0, &at);
}

#endif
