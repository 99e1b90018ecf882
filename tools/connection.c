#include "tools/interrupt.h"

#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t noticed;
static PGcancel *volatile cancelled;

static void on_signal(int number)
{
	int system_error = errno;
	char problem[256];

	noticed = number;
	alarm(1);
	if (cancelled)
		PQcancel(cancelled, problem, sizeof problem);
	errno = system_error;
}

/* The signal may come between the look at `noticed` and a read that then waits for ever: this one comes again and ends it. */
static void on_alarm(int number)
{
	(void)number;
	alarm(1);
}

/* Without SA_RESTART: reading from a pipe that says nothing is interrupted too. */
void interrupt_watch(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction reminder = { .sa_handler = on_alarm };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &reminder, NULL);
}

void interrupt_cancels(void *cancel)
{
	PGcancel *before = cancelled;

	cancelled = cancel;
	PQfreeCancel(before);
}

int interrupt_signal(void)
{
	return noticed;
}
