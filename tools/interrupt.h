/* tools/interrupt.h -- Ctrl-C and its like: a program notices the signal, cancels what it waits for, and says where it stands. */
#ifndef IFOREST_INTERRUPT_H
#define IFOREST_INTERRUPT_H

enum { EXIT_SIGNAL = 128 /* exit status of a program that a signal interrupted, less the number of the signal */ };

/* What a signal cancels. The function is called from a signal handler, perhaps several times. */
struct interrupt_action {
	void (*cancel)(void *context);
	void *context;
};

/* From now on SIGINT, SIGTERM and SIGHUP are noticed; SIGHUP is not where it was ignored, as by nohup. A read that a signal meets
 * fails with EINTR. A second signal ends the program at once. */
void interrupt_watch(void);

/* Sets what a signal cancels, from now until the next call; NULL: nothing. The caller keeps the action. */
void interrupt_cancels(const struct interrupt_action *action);

/* Returns the signal that came, or 0. */
int interrupt_signal(void);

#endif
