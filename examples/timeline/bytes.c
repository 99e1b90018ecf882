#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_append(struct bytes *bytes, const void *from, size_t n)
{
	if (n > bytes->n_reserved - bytes->n) {
		size_t n_reserved = 2 * (bytes->n + n) + 4096;
		unsigned char *at = realloc(bytes->at, n_reserved);

		if (!at) {
			bytes->failed = true;
			return;
		}
		bytes->at = at;
		bytes->n_reserved = n_reserved;
	}
	memcpy(bytes->at + bytes->n, from, n);
	bytes->n += n;
}

void bytes_print(struct bytes *bytes, const char *format, ...)
{
	char text[200];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	bytes_append(bytes, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

void bytes_quote(struct bytes *bytes, const char *text, size_t n)
{
	bytes_append(bytes, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\' || (unsigned char)text[i] < 0x20)
			bytes_print(bytes, "\\u%04x", (unsigned char)text[i]);
		else
			bytes_append(bytes, &text[i], 1);
	}
	bytes_append(bytes, "\"", 1);
}

void bytes_quote_text(struct bytes *bytes, const char *text)
{
	if (text)
		bytes_quote(bytes, text, strlen(text));
	else
		bytes_append(bytes, "null", 4);
}
