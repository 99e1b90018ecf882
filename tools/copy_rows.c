#include "tools/copy_rows.h"

#include <string.h>

static void append(struct copy_binary *copy, const void *data, size_t n_bytes)
{
	if (!copy->out_of_memory && trace_bytes_append(&copy->bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		copy->out_of_memory = true;
}

static void append_big_endian(struct copy_binary *copy, uint64_t value, int n_bytes)
{
	unsigned char bytes[8];

	for (int i = 0; i < n_bytes; i++)
		bytes[i] = (unsigned char)(value >> 8 * (n_bytes - 1 - i));
	append(copy, bytes, (size_t)n_bytes);
}

void copy_binary_start(struct copy_binary *copy)
{
	static const char signature[11] = "PGCOPY\n\377\r\n";

	append(copy, signature, sizeof signature);
	append_big_endian(copy, 0, 4); /* flags */
	append_big_endian(copy, 0, 4); /* length of an extended header */
}

void copy_binary_row(struct copy_binary *copy, int n_columns)
{
	append_big_endian(copy, (uint64_t)n_columns, 2);
}

void copy_binary_int64(struct copy_binary *copy, int64_t value)
{
	append_big_endian(copy, 8, 4);
	append_big_endian(copy, (uint64_t)value, 8);
}

void copy_binary_float8(struct copy_binary *copy, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	append_big_endian(copy, 8, 4);
	append_big_endian(copy, bits, 8);
}

void copy_binary_text(struct copy_binary *copy, struct trace_text text)
{
	append_big_endian(copy, text.data ? text.n_bytes : UINT32_MAX, 4);
	if (text.data)
		append(copy, text.data, text.n_bytes);
}

void copy_binary_end(struct copy_binary *copy)
{
	append_big_endian(copy, UINT16_MAX, 2);
}
