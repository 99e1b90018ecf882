#include "core/model/text_time.h"

#include <string.h>

enum { DAY_SECONDS = 86400, FRACTION_DIGITS = 9 };

/* The rest of a text. */
struct reader {
	const char *at, *end;
};

static char peek(const struct reader *reader)
{
	return reader->at < reader->end ? *reader->at : 0;
}

static bool take(struct reader *reader, char c)
{
	bool is_there = reader->at < reader->end && *reader->at == c;

	reader->at += is_there;
	return is_there;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_spaces(struct reader *reader)
{
	while (reader->at < reader->end && is_space(*reader->at))
		reader->at++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads exactly n digits. Returns false unless their number is in [least, most]. */
static bool take_number(struct reader *reader, int n, int least, int most, int *number)
{
	*number = 0;
	if (reader->end - reader->at < n)
		return false;
	for (; n > 0 && is_digit(*reader->at); n--)
		*number = 10 * *number + (*reader->at++ - '0');
	return n == 0 && *number >= least && *number <= most;
}

/* Reads the digits after a point. False if those beyond nanoseconds are not 0. */
static bool take_fraction(struct reader *reader, int64_t *nanoseconds)
{
	int n = 0;
	bool is_exact = true;

	*nanoseconds = 0;
	for (; is_digit(peek(reader)); reader->at++, n++)
		if (n < FRACTION_DIGITS)
			*nanoseconds = 10 * *nanoseconds + (*reader->at - '0');
		else
			is_exact = is_exact && *reader->at == '0';
	for (; n < FRACTION_DIGITS; n++)
		*nanoseconds *= 10;
	return is_exact;
}

/* ---- The calendar: years begin in March, so that a leap day is the last day of its year ---- */

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Returns the number of days from 1970-01-01 to a date. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;

	return 365 * y + floor_divide(y, 4) - floor_divide(y, 100) + floor_divide(y, 400) + (153 * m + 2) / 5 + day - 719469;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t from_march = days + 719468, era = floor_divide(from_march, 146097), of_era = from_march - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;

	*day = (int)(of_year - (153 * m + 2) / 5 + 1);
	*month = (int)(m < 10 ? m + 3 : m - 9);
	*year = y + 400 * era + (*month <= 2);
}

/* ---- Times ---- */

static bool take_date(struct reader *reader, int64_t *days)
{
	bool is_negative = take(reader, '-');
	int year, month, day;

	if (!take_number(reader, 4, 0, 9999, &year) || !take(reader, '-') || !take_number(reader, 2, 1, 12, &month) ||
	    !take(reader, '-') || !take_number(reader, 2, 1, 31, &day))
		return false;
	*days = days_of(is_negative ? -year : year, month, day);
	return true;
}

/* Reads Z or an offset, in seconds, if there is one. Returns false unless the text then ends. */
static bool take_zone(struct reader *reader, int64_t *offset)
{
	char c;
	int hours, minutes;

	*offset = 0;
	skip_spaces(reader);
	c = peek(reader);
	if (c == 'Z' || c == 'z') {
		reader->at++;
	} else if (c == '+' || c == '-') {
		reader->at++;
		if (!take_number(reader, 2, 0, 14, &hours) || !take(reader, ':') || !take_number(reader, 2, 0, 59, &minutes))
			return false;
		*offset = (c == '-' ? -60 : 60) * (60 * hours + minutes);
	}
	skip_spaces(reader);
	return reader->at == reader->end;
}

static enum iforest_text_result take_time(struct reader *reader, struct iforest_text_time *time)
{
	int hours, minutes, seconds = 0;
	int64_t offset;
	bool is_exact = true;

	if (!take_number(reader, 2, 0, 24, &hours) || !take(reader, ':') || !take_number(reader, 2, 0, 59, &minutes))
		return IFOREST_TEXT_NONE;
	if (take(reader, ':')) {
		if (!take_number(reader, 2, 0, 59, &seconds))
			return IFOREST_TEXT_NONE;
		if (reader->end - reader->at > 1 && *reader->at == '.' && is_digit(reader->at[1])) {
			reader->at++;
			is_exact = take_fraction(reader, &time->nanoseconds);
		}
	}
	if (!take_zone(reader, &offset))
		return IFOREST_TEXT_NONE;
	time->seconds += 3600 * hours + 60 * minutes + seconds - offset;
	return is_exact ? IFOREST_TEXT_READ : IFOREST_TEXT_TOO_FINE;
}

enum iforest_text_result iforest_text_time_read(const char *text, size_t n_bytes, struct iforest_text_time *time)
{
	struct reader reader = { text, text + n_bytes };
	enum iforest_text_result result = IFOREST_TEXT_READ;
	int64_t days;

	if (!take_date(&reader, &days))
		return IFOREST_TEXT_NONE;
	*time = (struct iforest_text_time){ .seconds = days * DAY_SECONDS };
	while (reader.at < reader.end && (is_space(*reader.at) || *reader.at == 'T'))
		reader.at++;
	if (reader.at < reader.end)
		result = take_time(&reader, time);
	return iforest_text_time_has(time->seconds) ? result : IFOREST_TEXT_NONE;
}

/* Writes a number of exactly n digits. */
static char *put_number(char *at, int64_t number, int n)
{
	for (int d = n - 1; d >= 0; d--, number /= 10)
		at[d] = (char)('0' + number % 10);
	return at + n;
}

/* Writes the fraction in at least n digits; nothing if both the fraction and n are 0. */
static char *put_fraction(char *at, int64_t nanoseconds, int n)
{
	char *point = at;

	if (nanoseconds == 0 && n == 0)
		return at;
	*at++ = '.';
	at = put_number(at, nanoseconds, FRACTION_DIGITS);
	while (at[-1] == '0' && at - point - 1 > n)
		at--;
	return at;
}

static char *put_time_of_day(char *at, int64_t seconds, int64_t nanoseconds, const struct iforest_text_form *form)
{
	bool is_whole = nanoseconds == 0 && form->digits == 0;

	if (form->shortest == IFOREST_TEXT_DATES && is_whole && seconds == 0)
		return at;
	*at++ = form->has_t ? 'T' : ' ';
	at = put_number(at, seconds / 3600, 2);
	*at++ = ':';
	at = put_number(at, seconds / 60 % 60, 2);
	if (form->shortest == IFOREST_TEXT_MINUTES && is_whole && seconds % 60 == 0)
		return at;
	*at++ = ':';
	at = put_number(at, seconds % 60, 2);
	return put_fraction(at, nanoseconds, form->drops_zero && nanoseconds == 0 ? 0 : form->digits);
}

void iforest_text_time_write(const struct iforest_text_time *time, const struct iforest_text_form *form, char *text)
{
	static const char *const zones[] = { "", "Z", "+00:00" };
	int64_t days = floor_divide(time->seconds, DAY_SECONDS), year;
	int month, day;
	char *at = text;

	date_of(days, &year, &month, &day);
	if (year < 0)
		*at++ = '-';
	at = put_number(at, year < 0 ? -year : year, 4);
	*at++ = '-';
	at = put_number(at, month, 2);
	*at++ = '-';
	at = put_number(at, day, 2);
	at = put_time_of_day(at, time->seconds - days * DAY_SECONDS, time->nanoseconds, form);
	memcpy(at, zones[form->zone], strlen(zones[form->zone]) + 1);
}

/* ---- Forms ---- */

/* digits in bits 8 to 15, zone in 4 and 5, shortest in 2 and 3, drops_zero in 1, has_t in 0 */
uint32_t iforest_text_form_code(const struct iforest_text_form *form)
{
	return (uint32_t)form->digits << 8 | (uint32_t)form->zone << 4 | (uint32_t)form->shortest << 2 |
	       (uint32_t)form->drops_zero << 1 | (uint32_t)form->has_t;
}

bool iforest_text_form_decode(uint32_t code, struct iforest_text_form *form)
{
	*form = (struct iforest_text_form){ .has_t = code & 1,
					    .drops_zero = code >> 1 & 1,
					    .digits = (uint8_t)(code >> 8),
					    .shortest = (enum iforest_text_shortest)(code >> 2 & 3),
					    .zone = (enum iforest_text_zone)(code >> 4 & 3) };
	return code >> 16 == 0 && form->digits <= FRACTION_DIGITS && form->shortest <= IFOREST_TEXT_DATES &&
	       form->zone <= IFOREST_TEXT_OFFSET &&
	       (form->zone == IFOREST_TEXT_NO_ZONE || form->shortest != IFOREST_TEXT_DATES) &&
	       iforest_text_form_code(form) == code;
}

enum { DATE_BYTES = 10, MINUTE_BYTES = 16, SECOND_BYTES = 19, OFFSET_BYTES = 6 };

/* Derives the form of a text from its length and punctuation. Returns false if no form has that length. */
static bool form_of(const char *text, size_t n, struct iforest_text_form *form)
{
	*form = (struct iforest_text_form){ .has_t = n > DATE_BYTES && text[DATE_BYTES] == 'T' };
	if (n > DATE_BYTES && text[n - 1] == 'Z') {
		form->zone = IFOREST_TEXT_Z;
		n--;
	} else if (n > MINUTE_BYTES && memcmp(text + n - OFFSET_BYTES, "+00:00", OFFSET_BYTES) == 0) {
		form->zone = IFOREST_TEXT_OFFSET;
		n -= OFFSET_BYTES;
	}
	if (n == DATE_BYTES || n == MINUTE_BYTES)
		form->shortest = n == DATE_BYTES ? IFOREST_TEXT_DATES : IFOREST_TEXT_MINUTES;
	else if (n > SECOND_BYTES + 1)
		form->digits = (uint8_t)(n - SECOND_BYTES - 1 <= FRACTION_DIGITS ? n - SECOND_BYTES - 1 : 0);
	return n == DATE_BYTES || n == MINUTE_BYTES || n == SECOND_BYTES || form->digits > 0;
}

void iforest_text_forms_add(struct iforest_text_forms *forms, const char *text, size_t n_bytes,
			    const struct iforest_text_time *time)
{
	struct iforest_text_form form, *first = &forms->form;
	char written[IFOREST_TEXT_TIME_BYTES];

	if (forms->is_mixed)
		return;
	forms->is_mixed = !form_of(text, n_bytes, &form);
	if (forms->is_mixed)
		return;
	iforest_text_time_write(time, &form, written);
	if (!forms->has_any)
		*first = form;
	forms->is_mixed = strlen(written) != n_bytes || memcmp(written, text, n_bytes) != 0 || form.has_t != first->has_t ||
			  form.shortest != first->shortest || form.zone != first->zone;
	forms->has_other = forms->has_other || form.digits != first->digits;
	if (form.digits > 0) {
		forms->keeps_zero = forms->keeps_zero || time->nanoseconds == 0;
		forms->has_zero_end = forms->has_zero_end || written[SECOND_BYTES + form.digits] == '0';
		forms->has_other_part = forms->has_other_part || (first->digits > 0 && form.digits != first->digits);
	}
	if (form.digits > first->digits)
		first->digits = form.digits;
	forms->has_any = true;
}

struct iforest_text_form iforest_text_forms_common(const struct iforest_text_forms *forms)
{
	struct iforest_text_form form = forms->form;

	if (forms->is_mixed || (forms->has_other && form.zone != IFOREST_TEXT_NO_ZONE))
		return (struct iforest_text_form){ .digits = 0 };
	if (!forms->has_other)
		return form;
	form.drops_zero = !forms->keeps_zero && !forms->has_other_part;
	if (form.drops_zero)
		return form;
	form.digits = 0; /* fractions are trimmed */
	return forms->has_zero_end ? (struct iforest_text_form){ .digits = 0 } : form;
}

/* ---- Durations ---- */

/* Units; those of the calendar have no fixed length, and 0 here. */
static const struct unit {
	char name[12];
	bool has_plural;
	int64_t nanoseconds;
} units[] = {
	{ "ns", false, 1 },
	{ "nanosecond", true, 1 },
	{ "us", false, 1000 },
	{ "microsecond", true, 1000 },
	{ "ms", false, 1000000 },
	{ "millisecond", true, 1000000 },
	{ "s", false, IFOREST_NANOSECONDS },
	{ "sec", false, IFOREST_NANOSECONDS },
	{ "second", true, IFOREST_NANOSECONDS },
	{ "min", false, 60 * IFOREST_NANOSECONDS },
	{ "minute", true, 60 * IFOREST_NANOSECONDS },
	{ "h", false, 3600 * IFOREST_NANOSECONDS },
	{ "hour", true, 3600 * IFOREST_NANOSECONDS },
	{ "d", false, DAY_SECONDS *IFOREST_NANOSECONDS },
	{ "day", true, DAY_SECONDS *IFOREST_NANOSECONDS },
	{ "week", true, 7 * DAY_SECONDS *IFOREST_NANOSECONDS },
	{ "month", true, 0 },
	{ "year", true, 0 },
};

static char to_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* True if the text is that name, in any case, or its plural. */
static bool is_unit(const struct unit *unit, const char *text, size_t n)
{
	size_t n_name = strlen(unit->name);

	if (n != n_name && !(unit->has_plural && n == n_name + 1 && to_lower(text[n_name]) == 's'))
		return false;
	for (size_t i = 0; i < n_name; i++)
		if (to_lower(text[i]) != unit->name[i])
			return false;
	return true;
}

/* Returns the unit of that name; NULL if there is none. */
static const struct unit *find_unit(const char *name, size_t n)
{
	for (size_t u = 0; u < sizeof units / sizeof *units; u++)
		if (is_unit(&units[u], name, n))
			return &units[u];
	return NULL;
}

enum iforest_text_result iforest_text_length_read(const char *text, size_t n_bytes, iforest_int128 *nanoseconds)
{
	struct reader reader = { text, text + n_bytes };
	const struct unit *unit;
	int64_t whole = 0, fraction = 0;
	iforest_int128 part;
	bool is_exact = true;

	skip_spaces(&reader);
	if (!is_digit(peek(&reader)))
		return IFOREST_TEXT_NONE;
	for (; is_digit(peek(&reader)); reader.at++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *reader.at - '0', &whole))
			return IFOREST_TEXT_NONE;
	if (take(&reader, '.'))
		is_exact = take_fraction(&reader, &fraction);
	skip_spaces(&reader);
	while (reader.end > reader.at && is_space(reader.end[-1]))
		reader.end--;
	unit = find_unit(reader.at, (size_t)(reader.end - reader.at));
	if (!unit)
		return IFOREST_TEXT_NONE;
	if (unit->nanoseconds == 0)
		return IFOREST_TEXT_CALENDAR;
	part = (iforest_int128)fraction * unit->nanoseconds;
	*nanoseconds = (iforest_int128)whole * unit->nanoseconds + part / IFOREST_NANOSECONDS;
	return is_exact && part % IFOREST_NANOSECONDS == 0 ? IFOREST_TEXT_READ : IFOREST_TEXT_TOO_FINE;
}
