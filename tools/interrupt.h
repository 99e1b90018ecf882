/* Ctrl-C and SIGTERM: what the server is doing is cancelled, and the program finds out and says where it stands. A second
 * signal ends it at once. */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

/* From now on signals are noticed. */
void interrupt_watch(void);

/* What a signal shall cancel: a PGcancel, which becomes ours, or NULL for nothing. */
void interrupt_cancels(void *cancel);

/* The signal that came, or 0. */
int interrupt_signal(void);

#endif
