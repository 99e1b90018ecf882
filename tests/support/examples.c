#include "tests/support/examples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *read_whole_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long n;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
	fclose(file);
	return text;
}

char *cut_line(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

static void append(char *text, size_t n_bytes, const char *line)
{
	assert_true(strlen(text) + strlen(line) + 2 < n_bytes);
	strcat(text, line);
	strcat(text, "\n");
}

/* Runs the example, if there is one, and clears it for the next. Returns whether there was one. */
static bool run_example(struct example *example, const struct example_runner *runner)
{
	if (!example->sql[0])
		return false;
	if (!runner->is_complete(example->sql))
		fail_msg("%s:%d: a statement without an end", example->path, example->line);
	runner->run(runner->context, example);
	example->sql[0] = example->shown[0] = '\0';
	example->has_shown = false;
	return true;
}

/* Takes one line of a block: a part of a statement, or of the rows shown for the statement before. Returns whether that
 * statement was run. */
static bool take_line(struct example *example, const struct example_runner *runner, const char *line, int number)
{
	bool is_complete = example->sql[0] && runner->is_complete(example->sql), has_run = false;

	if (is_complete && strncmp(line, "-- ", 3) == 0) {
		example->has_shown = true;
		append(example->shown, sizeof example->shown, line + 3);
		return false;
	}
	if (is_complete)
		has_run = run_example(example, runner);
	if (!line[0])
		return has_run;
	if (!example->sql[0])
		example->line = number;
	append(example->sql, sizeof example->sql, line);
	return has_run;
}

/* Runs the examples of the page that this one continues, if it names one. */
static void run_page_before(const char *path, const char *text, const char *fence, const struct example_runner *runner)
{
	static const char words[] = "The examples go on from those of [";
	const char *name = strstr(text, words), *slash = strrchr(path, '/');
	char before[200];

	if (!name)
		return;
	name += strlen(words);
	snprintf(before, sizeof before, "%.*s%.*s", slash ? (int)(slash + 1 - path) : 0, path, (int)strcspn(name, "]"), name);
	(void)examples_run(before, fence, runner);
}

int examples_run(const char *path, const char *fence, const struct example_runner *runner)
{
	struct example example = { .path = path };
	char *text = read_whole_file(path), *rest = text, *line;
	bool in_block = false;
	int n = 0;

	if (!text)
		fail_msg("%s is missing: run this from the top of the project", path);
	run_page_before(path, text, fence, runner);
	for (int number = 1; (line = cut_line(&rest)); number++) {
		if (strncmp(line, "```", 3) == 0) {
			if (in_block)
				n += run_example(&example, runner);
			in_block = !in_block && strcmp(line, fence) == 0;
		} else if (in_block) {
			n += take_line(&example, runner, line, number);
		}
	}
	free(text);
	return n;
}
