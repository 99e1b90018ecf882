#include "tests/support/limited.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int there_is_memory(void)
{
	void *volatile memory = malloc(1 << 26); /* volatile, so that it is not optimized away */

	free(memory);
	return memory != NULL;
}

/* qemu-user accepts the limit but does not enforce it, because it needs memory itself. */
bool limited_or_says_why_not(void)
{
	if (LIMITED_IS_POSSIBLE && limited_run(RLIMIT_AS, 1, there_is_memory) == 0)
		return true;
	printf("skipped: %s\n", LIMITED_IS_POSSIBLE ? "here a limit of memory is not kept" : "under this sanitizer memory cannot be limited");
	return false;
}

/* The child's result comes through a pipe, because an exit status is too small for a line number. */
int limited_run(int resource, uint64_t n_bytes, int (*body)(void))
{
	int ends[2], line = -1;
	pid_t child;

	if (pipe(ends))
		return -1;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct rlimit limit = { .rlim_cur = n_bytes, .rlim_max = n_bytes };

		line = setrlimit(resource, &limit) ? -1 : body();
		_exit(write(ends[1], &line, sizeof line) != sizeof line);
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &line, sizeof line) != sizeof line)
		line = -1;
	close(ends[0]);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	return line;
}
