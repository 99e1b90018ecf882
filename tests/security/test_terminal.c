/* tests/security/test_terminal.c -- Of all characters, those that a terminal takes for commands, or that it does not show, are printed
 * as escapes, and no others. What is which stands here as in Unicode's tables. */
#include "tests/support/harness.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/terminal.h"

static const struct {
	unsigned first, last;
} hidden[] = {
	{ 0x1, 0x1F }, { 0x7F, 0x9F }, /* Cc */
	{ 0x61C, 0x61C }, { 0x200E, 0x200F }, { 0x202A, 0x202E }, { 0x2066, 0x2069 }, /* Bidi_Control */
	{ 0x200B, 0x200D }, { 0x2060, 0x2065 }, { 0x206A, 0x206F }, { 0xFEFF, 0xFEFF }, { 0xE0000, 0xE007F }, /* without a width */
	{ 0x2028, 0x2029 }, /* Zl, Zp */
};

static bool is_hidden(unsigned character)
{
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return true;
	return false;
}

static size_t encode(unsigned character, char *at)
{
	static const unsigned char leads[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; character >>= 6)
		at[i] = (char)(0x80 | (character & 0x3F));
	at[0] = (char)(leads[n] | character);
	return n;
}

/* What is printed of the text, from malloc(). */
static char *printed_by(void (*print)(FILE *, const char *), const char *text)
{
	char *printed = NULL;
	size_t n;
	FILE *file = open_memstream(&printed, &n);

	print(file, text);
	assert_int_equal(fclose(file), 0);
	return printed;
}

/* Lines of 256 characters, of which each is printed as it is or as an escape. */
static void compare_line(unsigned first, void (*print)(FILE *, const char *), const char *kept)
{
	char text[256 * 4 + 1], expected[256 * 10 + 1], *printed;
	size_t n_text = 0, n_expected = 0;

	for (unsigned c = first + (first == 0); c < first + 256; c++) {
		size_t n = encode(c, text + n_text);

		if (is_hidden(c) && !(c < 0x80 && strchr(kept, (int)c)))
			n_expected += (size_t)sprintf(expected + n_expected, c < 0x80 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
		else
			n_expected += encode(c, expected + n_expected);
		n_text += n;
	}
	text[n_text] = expected[n_expected] = '\0';
	printed = printed_by(print, text);
	if (strcmp(printed, expected) != 0)
		fail_msg("U+%04X and what follows: %s instead of %s", first, printed, expected);
	free(printed);
}

static void hidden_characters_alone_are_escaped(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 0x110000; first += 256) {
		if (first >= 0xD800 && first < 0xE000) /* no characters */
			continue;
		compare_line(first, terminal_print, "");
		compare_line(first, terminal_print_lines, "\n\t");
	}
}

static void bytes_that_are_no_characters_are_escaped(void **state)
{
	static const char *const pairs[][2] = {
		{ "\xC0\x80", "\\xc0\\x80" }, { "\xED\xA0\x80", "\\xed\\xa0\\x80" }, { "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, { "a\xE2\x82", "a\\xe2\\x82" },
		{ "\xE2\x82\033", "\\xe2\\x82\\x1b" }, { "\xC2\xC2\x9B", "\\xc2\\u009b" }, { "\xE0\x82\x9B", "\\xe0\\x82\\x9b" }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char *printed = printed_by(terminal_print, pairs[i][0]);

		assert_string_equal(printed, pairs[i][1]);
		free(printed);
	}
	for (unsigned byte = 0x80; byte < 0x100; byte++) {
		const char text[] = { (char)byte, 'a', '\0' };
		char expected[6], *printed = printed_by(terminal_print, text);

		snprintf(expected, sizeof expected, "\\x%02xa", byte);
		assert_string_equal(printed, expected);
		free(printed);
	}
}

static void paths_are_one_word(void **state)
{
	static const char *const pairs[][2] = {
		{ "/a/b-1.json", "/a/b-1.json" }, { "", "''" }, { "a b", "'a b'" }, { "it's", "'it'\\''s'" }, { "'", "''\\'''" }, { "$(x)", "'$(x)'" }, { "a;b", "'a;b'" }, { "~", "'~'" },
		{ "a\033'\033", "'a\\x1b'\\''\\x1b'" }, { "*", "'*'" }, { "a\nb", "'a\\x0ab'" }, { "#", "'#'" }, { "a&b", "'a&b'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char *printed = printed_by(terminal_print_path, pairs[i][0]);

		assert_string_equal(printed, pairs[i][1]);
		free(printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_characters_alone_are_escaped),
		cmocka_unit_test(bytes_that_are_no_characters_are_escaped),
		cmocka_unit_test(paths_are_one_word),
	};

	return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
