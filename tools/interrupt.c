#include "tools/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t noticed;
static const struct interrupt_action *volatile current;

static void cancel_current(void)
{
	const struct interrupt_action *action = current;
	int system_error = errno;

	alarm(1);
	if (action)
		action->cancel(action->context);
	errno = system_error;
}

static void on_signal(int number)
{
	noticed = number;
	cancel_current();
}

/* A signal may come after `noticed` was checked and before a read, or a statement, that then takes for ever. The alarm repeats
 * until it interrupts that. */
static void on_alarm(int number)
{
	(void)number;
	cancel_current();
}

/* Without SA_RESTART, so that a read from a pipe without data is interrupted, too. */
void interrupt_watch(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, before;
	struct sigaction reminder = { .sa_handler = on_alarm };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	sigaction(SIGALRM, &reminder, NULL);
}

void interrupt_cancels(const struct interrupt_action *action)
{
	current = action;
}

int interrupt_signal(void)
{
	return noticed;
}
