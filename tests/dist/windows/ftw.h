/* tests/dist/windows/ftw.h -- Walk through a folder, as POSIX has it and Windows has not. */
#ifndef WINDOWS_FTW_H
#define WINDOWS_FTW_H

#include <sys/stat.h>

enum { FTW_DEPTH = 1, FTW_PHYS = 2 };

struct FTW {
	int level;
};

/* Names below a folder; the folder itself is removed behind them. */
int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *), int n_open, int flags);

#endif
