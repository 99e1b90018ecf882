/* model/text_time.h -- Times and durations as text: ISO-8601 as SQLite's date functions read and write it; "5 minutes".
 *
 *   YYYY-MM-DD                               spaces and T in any number between date and time; spaces at the end
 *   YYYY-MM-DD HH:MM
 *   YYYY-MM-DD HH:MM:SS
 *   YYYY-MM-DD HH:MM:SS.fraction             any number of digits; those beyond nanoseconds must be 0
 *
 * A time may be followed by Z or by an offset [+-]HH:MM up to 14:59; without either it is UTC. The year may have a minus sign.
 * As in SQLite, a day past the end of its month counts on into the next (February 30 is March 1 or 2), 24:00 is 00:00 of the
 * next day, there are no leap seconds, and times range from -4713-11-24 12:00:00 to the end of the year 9999, in the proleptic
 * Gregorian calendar.
 */
#ifndef IFOREST_MODEL_TEXT_TIME_H
#define IFOREST_MODEL_TEXT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bits.h"

#define IFOREST_NANOSECONDS INT64_C(1000000000) /* per second */

enum iforest_text_result {
	IFOREST_TEXT_READ,
	IFOREST_TEXT_NONE,     /* the text is not a time, or not a duration */
	IFOREST_TEXT_TOO_FINE, /* it is one, but has digits beyond nanoseconds */
	IFOREST_TEXT_CALENDAR, /* a duration in months or years, which vary in length */
};

/* Seconds since 1970-01-01 00:00:00 UTC, and 0 to 999999999 nanoseconds after that. */
struct iforest_text_time {
	int64_t seconds;
	int64_t nanoseconds;
};

/* Parses a time. Returns IFOREST_TEXT_READ, NONE or TOO_FINE. */
enum iforest_text_result iforest_text_time_read(const char *text, size_t n_bytes, struct iforest_text_time *time);

enum iforest_text_shortest { IFOREST_TEXT_SECONDS, IFOREST_TEXT_MINUTES, IFOREST_TEXT_DATES };
enum iforest_text_zone { IFOREST_TEXT_NO_ZONE, IFOREST_TEXT_Z, IFOREST_TEXT_OFFSET };

/* How times are written. All zeros: as SQLite's datetime() does, YYYY-MM-DD HH:MM:SS, and the fraction without trailing zeros
 * if there is one. */
struct iforest_text_form {
	bool has_t;				 /* T between date and time, not a space */
	bool drops_zero;			 /* a fraction of 0 is left out */
	uint8_t digits;				 /* of the fraction, 0 to 9, at least: more if a time has more */
	enum iforest_text_shortest shortest : 8; /* leaves out seconds of 0, or a time of day of 0 */
	enum iforest_text_zone zone : 8;	 /* followed by nothing, Z, or +00:00 */
};

/* Writes a time, zero-terminated. From year 0 on, texts compare as their times do; with a zone, only if they have equally many
 * digits.
 * Requires  a time that iforest_text_time_read() can return; text has room for IFOREST_TEXT_TIME_BYTES. */
enum { IFOREST_TEXT_TIME_BYTES = 40 };
void iforest_text_time_write(const struct iforest_text_time *time, const struct iforest_text_form *form, char *text);

/* Encode a form as a number, 0 for all zeros, and decode it. Decoding returns false for a number that is not the code of a
 * form. */
uint32_t iforest_text_form_code(const struct iforest_text_form *form);
bool iforest_text_form_decode(uint32_t code, struct iforest_text_form *form);

/* The common form of the texts of a column, text by text. All zeros: there were none. */
struct iforest_text_forms {
	struct iforest_text_form form; /* digits: the most seen */
	bool has_any;
	bool is_mixed;	     /* there is no common form in which texts compare as their times do */
	bool has_other;	     /* the numbers of digits differ */
	bool keeps_zero;     /* a fraction of 0 was written out */
	bool has_zero_end;   /* a fraction ended with 0 */
	bool has_other_part; /* the numbers of digits differ even among texts that have a fraction */
};

/* Adds a text, and the time that it was read as. */
void iforest_text_forms_add(struct iforest_text_forms *forms, const char *text, size_t n_bytes,
			    const struct iforest_text_time *time);

/* Returns the form that writes each of the times as its text was; all zeros if there is none. */
struct iforest_text_form iforest_text_forms_common(const struct iforest_text_forms *forms);

/* The first second of the range, -4713-11-24 12:00:00, and the one after its last. */
#define IFOREST_FIRST_SECOND INT64_C(-210866760000)
#define IFOREST_END_OF_SECONDS INT64_C(253402300800)

static inline bool iforest_text_time_has(int64_t seconds)
{
	return seconds >= IFOREST_FIRST_SECOND && seconds < IFOREST_END_OF_SECONDS;
}

/* Parses a duration such as "5 minutes", "1.5 h" or "500 ms" to nanoseconds: a decimal number and a unit, which is ns, us, ms,
 * s, sec, min, h, d, or a name such as hour or hours, up to weeks. */
enum iforest_text_result iforest_text_length_read(const char *text, size_t n_bytes, iforest_int128 *nanoseconds);

#endif
