#include "tools/table_name.h"

#include <stdlib.h>
#include <string.h>

/* One part up to a '.' or the end, appended to *out in quotes; NULL if it is none. */
static const char *parse_part(const char *text, char **out)
{
	bool in_quotes = *text == '"';
	const char *start = *out + 1;

	*(*out)++ = '"';
	if (in_quotes) {
		for (text++; *text && (*text != '"' || text[1] == '"'); text++) {
			if (*text == '"')
				*(*out)++ = *text++;
			*(*out)++ = *text;
		}
		if (*text++ != '"')
			return NULL;
	} else {
		for (; *text && *text != '.'; text++) {
			if (*text == '"')
				return NULL;
			*(*out)++ = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
		}
	}
	if (*out == start || (*text && *text != '.'))
		return NULL;
	*(*out)++ = '"';
	return text;
}

char *table_name_parse(const char *text, const char **problem)
{
	/* Each part gains two quotes and loses none; a dot is in between. */
	char *name = malloc(strlen(text) + 8), *out = name;

	*problem = "is more than fits into memory";
	if (!name)
		return NULL;
	*problem = "is not the name of a table; write TABLE, SCHEMA.TABLE, or parts in double quotes";
	text = parse_part(text, &out);
	if (text && *text == '.') {
		*out++ = '.';
		text = parse_part(text + 1, &out);
	}
	if (text && !*text) {
		*out = '\0';
		return name;
	}
	free(name);
	return NULL;
}
