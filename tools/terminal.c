#include "tools/terminal.h"

#include <stdbool.h>
#include <string.h>

#include "trace/utf8.h"

/* Of a valid character of n_bytes. */
static unsigned code_point_of(const unsigned char *data, size_t n_bytes)
{
	unsigned code_point = n_bytes == 1 ? *data : *data & (0x7FU >> n_bytes);

	for (size_t i = 1; i < n_bytes; i++)
		code_point = code_point << 6 | (data[i] & 0x3FU);
	return code_point;
}

/* Controls (C0, DEL, C1); what turns or joins the direction of text; line and paragraph separators; the byte order mark. */
static bool is_command(unsigned code_point)
{
	return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) || code_point == 0x61C ||
	       (code_point >= 0x200B && code_point <= 0x200F) || (code_point >= 0x2028 && code_point <= 0x202E) ||
	       (code_point >= 0x2060 && code_point <= 0x206F) || code_point == 0xFEFF ||
	       (code_point >= 0xE0000 && code_point < 0xE0080);
}

static void print(FILE *file, const char *text, size_t n_left, const char *kept)
{
	const unsigned char *data = (const unsigned char *)text;

	while (n_left > 0) {
		size_t n_bytes = trace_utf8_bytes(data, n_left);
		unsigned code_point = n_bytes > 0 ? code_point_of(data, n_bytes) : *data;

		if (n_bytes == 0 || (n_bytes == 1 && is_command(code_point) && !strchr(kept, (int)code_point)))
			fprintf(file, "\\x%02x", code_point);
		else if (n_bytes > 1 && is_command(code_point))
			fprintf(file, code_point > 0xFFFF ? "\\U%08x" : "\\u%04x", code_point);
		else
			fwrite(data, 1, n_bytes, file);
		n_bytes += n_bytes == 0;
		data += n_bytes;
		n_left -= n_bytes;
	}
}

void terminal_print(FILE *file, const char *text)
{
	print(file, text, strlen(text), "");
}

void terminal_print_lines(FILE *file, const char *text)
{
	print(file, text, strlen(text), "\n\t");
}

void terminal_print_path(FILE *file, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@%=-";

	if (*path && path[strspn(path, plain)] == '\0') {
		fputs(path, file);
		return;
	}
	fputc('\'', file);
	for (const char *quote; (quote = strchr(path, '\'')); path = quote + 1) {
		print(file, path, (size_t)(quote - path), "");
		fputs("'\\''", file);
	}
	terminal_print(file, path);
	fputc('\'', file);
}

static bool is_plain(const char *text)
{
	const unsigned char *data = (const unsigned char *)text;
	size_t n_left = strlen(text), n_bytes;

	for (; n_left > 0; data += n_bytes, n_left -= n_bytes) {
		n_bytes = trace_utf8_bytes(data, n_left);
		if (n_bytes == 0 || is_command(code_point_of(data, n_bytes)))
			return false;
	}
	return true;
}

const char *terminal_hidden_option(int argc, char *const *argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (argv[i][0] == '-' && !is_plain(argv[i]))
			return argv[i];
	return NULL;
}
