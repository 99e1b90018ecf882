/* examples/timeline/bytes.h -- Bytes that grow: answers on their way to the browser. */
#ifndef TIMELINE_BYTES_H
#define TIMELINE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is empty. Without memory they stay as they are, and `failed` says so. Who has them frees `at`. */
struct bytes {
	unsigned char *at;
	size_t n, n_reserved;
	bool failed;
};

void bytes_append(struct bytes *bytes, const void *from, size_t n);

/* Text as printf has it, of at most 200 bytes. */
__attribute__((format(printf, 2, 3))) void bytes_print(struct bytes *bytes, const char *format, ...);

/* Appends a text as a JSON string; NULL as null. What is not UTF-8 stays as it is: the browser shows U+FFFD. */
void bytes_quote(struct bytes *bytes, const char *text, size_t n);
void bytes_quote_text(struct bytes *bytes, const char *text);

#endif
