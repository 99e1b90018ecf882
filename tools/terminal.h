/* tools/terminal.h -- Text of strangers on a terminal: names of files and in traces, and messages that quote them.
 *
 * A terminal takes some characters for commands: they set its title, move the cursor over what was printed, or answer as if the
 * user had typed. These are printed as escapes, and so are characters that turn the direction of a text, and bytes that are not
 * UTF-8.
 *
 *     ESC ] 0 ;   ->  \x1b]0;        U+202E  ->  \u202e        a byte E9 alone  ->  \xe9
 */
#ifndef IFOREST_TERMINAL_H
#define IFOREST_TERMINAL_H

#include <stdio.h>

/* Prints a text that is to stay on its line: a newline and a tab are escaped, too. */
void terminal_print(FILE *file, const char *text);

/* Prints a message of several lines: newlines and tabs stay. */
void terminal_print_lines(FILE *file, const char *text);

/* Prints a path so that a POSIX shell takes it for one word: in quotes unless all its characters are plain. One with characters
 * that would be escaped is printed as by terminal_print(), in quotes: nobody should paste it. */
void terminal_print_path(FILE *file, const char *path);

/* Returns the first option that has a character which would be escaped, or NULL. getopt_long() prints a wrong option as it is, and a
 * name of a file may be one. */
const char *terminal_hidden_option(int argc, char *const *argv);

#endif
