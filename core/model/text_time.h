/* model/text_time.h -- Times and lengths of time as text: ISO-8601 as SQLite's date functions read and write it; "5 minutes".
 *
 *   YYYY-MM-DD                               any number of spaces and T between date and time, spaces at the end
 *   YYYY-MM-DD HH:MM
 *   YYYY-MM-DD HH:MM:SS
 *   YYYY-MM-DD HH:MM:SS.fraction             any number of digits; those beyond nanoseconds must be 0
 *
 * After a time may follow Z, or an offset of [+-]HH:MM up to 14:59; without either it is UTC. A minus sign may come before the
 * year. As there, a day that its month does not have is one of the next (February 30 is March 2 or 1), 24:00 is the next day's
 * 00:00, leap seconds do not exist, and times go from -4713-11-24 12:00:00 to the end of the year 9999, in the Gregorian
 * calendar throughout.
 */
#ifndef IFOREST_MODEL_TEXT_TIME_H
#define IFOREST_MODEL_TEXT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bits.h"

#define IFOREST_NANOSECONDS INT64_C(1000000000) /* of a second */

enum iforest_text_result {
	IFOREST_TEXT_READ,
	IFOREST_TEXT_NONE,     /* it is no time, or no length */
	IFOREST_TEXT_TOO_FINE, /* it is one, with digits beyond nanoseconds */
	IFOREST_TEXT_CALENDAR, /* a length in months or years, which differ in length */
};

/* A time: seconds since 1970-01-01 00:00:00 UTC, and nanoseconds after that, 0 to 999999999. */
struct iforest_text_time {
	int64_t seconds;
	int64_t nanoseconds;
};

enum iforest_text_result iforest_text_time_read(const char *text, size_t n_bytes, struct iforest_text_time *time);

enum iforest_text_shortest { IFOREST_TEXT_SECONDS, IFOREST_TEXT_MINUTES, IFOREST_TEXT_DATES };
enum iforest_text_zone { IFOREST_TEXT_NO_ZONE, IFOREST_TEXT_Z, IFOREST_TEXT_OFFSET };

/* A form in which times are written. All zeros: that of SQLite's datetime(), YYYY-MM-DD HH:MM:SS and the fraction, without zeros
 * at its end, if there is one. */
struct iforest_text_form {
	bool has_t;				 /* T between date and time, not a space */
	bool drops_zero;			 /* no fraction if it is 0, else as many digits as here: */
	uint8_t digits;				 /* of the fraction, 0 to 9; more if a time has more */
	enum iforest_text_shortest shortest : 8; /* seconds of 0, or a time of day of 0, are left out */
	enum iforest_text_zone zone : 8;	 /* nothing after it, Z, or +00:00 */
};

/* Writes a time in a form, with a zero byte. Texts of years from 0 on have the order of their times; with a zone, if they have
 * as many digits.
 * Requires  a time that iforest_text_time_read() may give, and room for IFOREST_TEXT_TIME_BYTES */
enum { IFOREST_TEXT_TIME_BYTES = 40 };
void iforest_text_time_write(const struct iforest_text_time *time, const struct iforest_text_form *form, char *text);

/* A form as a number, 0 for all zeros, and back; false for a number that is none. */
uint32_t iforest_text_form_code(const struct iforest_text_form *form);
bool iforest_text_form_decode(uint32_t code, struct iforest_text_form *form);

/* What the texts of a column have in common. All zeros: there were none. */
struct iforest_text_forms {
	struct iforest_text_form form; /* digits: the most that there were */
	bool has_any;
	bool is_mixed;	     /* they have no form in common in which texts have the order of their times */
	bool has_other;	     /* they do not have equally many digits */
	bool keeps_zero;     /* a fraction of 0 is written */
	bool has_zero_end;   /* a fraction ends with 0 */
	bool has_other_part; /* fractions that are there do not have equally many digits */
};

/* Adds a text that was read as that time. */
void iforest_text_forms_add(struct iforest_text_forms *forms, const char *text, size_t n_bytes,
			    const struct iforest_text_time *time);

/* Returns the form in which each of the texts is written as it was; all zeros if there is none. */
struct iforest_text_form iforest_text_forms_common(const struct iforest_text_forms *forms);

/* The first second that there is, -4713-11-24 12:00:00, and the one after the last. */
#define IFOREST_FIRST_SECOND INT64_C(-210866760000)
#define IFOREST_END_OF_SECONDS INT64_C(253402300800)

static inline bool iforest_text_time_has(int64_t seconds)
{
	return seconds >= IFOREST_FIRST_SECOND && seconds < IFOREST_END_OF_SECONDS;
}

/* Reads a length such as "5 minutes", "1.5 h" or "500 ms" in nanoseconds: a decimal number and a unit, which is one of ns, us,
 * ms, s, min, h, d, or a name such as hour or hours, up to weeks. */
enum iforest_text_result iforest_text_length_read(const char *text, size_t n_bytes, iforest_int128 *nanoseconds);

#endif
