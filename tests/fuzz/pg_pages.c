/* Damaged pages of an index in PostgreSQL: whatever the bytes, each statement ends soon, in the right answer or in an error
 * that names the index; no server crashes, no file and no process grows without bound, iforest_check finds what changes
 * answers, and REINDEX mends it.
 *
 * A round is a copy of a small database; each index in it is damaged in one way and asked a random choice of questions and
 * statements. Round r comes from IFOREST_SEED + r. What is found is printed, a line each, with its seed:
 *
 *   IFOREST_SEED=n IFOREST_ROUNDS=1 [IFOREST_CHECKSUMS=on|off] tests/pg/cluster.sh run build/tests/fuzz/pg_pages
 *
 * IFOREST_SECONDS: rounds go on for so long. IFOREST_STATEMENT_SECONDS: what a statement may take (2). */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/pg_damage.h"
#include "tests/fuzz/pg_subjects.h"
#include "tests/pg/client.h"
#include "tests/pg/server.h"

enum { MOST_QUESTIONS = 24, MOST_SUBJECTS = 4, MOST_SLOW = 2, MOST_FILE_BYTES = 64 << 20, MOST_ADDRESS_BYTES = 384 << 20 };

static struct server server;
static uint64_t statement_microseconds;

/* ---- the sound database ---- */

static struct sound {
	char file_name[20];                       /* of the index, the same in each copy */
	struct damage_file earlier, file;
	PGresult *answers[MOST_QUESTIONS];
} sounds[MOST_SUBJECTS];

/* ---- what was found ---- */

static unsigned n_found, n_statements, n_answers, n_errors, n_indexes;
static char round_name[120];
static struct damage damage;
static const char *found_before[8]; /* of this index: each kind of finding is reported once */

FORMAT(2) static void found(const char *what, const char *format, ...)
{
	char details[1500];
	va_list arguments;
	size_t i = 0;

	while (i < COUNT_OF(found_before) && found_before[i] && found_before[i] != what)
		i++;
	if (i == COUNT_OF(found_before) || found_before[i])
		return;
	found_before[i] = what;
	va_start(arguments, format);
	vsnprintf(details, sizeof details, format, arguments);
	va_end(arguments);
	printf("%s: %s: %s; %s\n", round_name, what, damage.words, details);
	fflush(stdout);
	n_found++;
}

/* ---- statements that may go wrong ---- */

/* A damaged index, and the two sessions that ask about it. */
struct patient {
	const struct subject *subject;
	PGconn *pg, *plain;                       /* plain: the index is hidden from the planner, in a transaction */
	char path[800];
	long long most_bytes;
	unsigned n_slow, n_wrong;
	bool is_lost;                             /* the server has crashed, or had to be killed */
};

/* Waits until the session has a result; false: it has none in time. */
static bool wait_for_result(PGconn *pg, uint64_t until)
{
	while (PQisBusy(pg)) {
		struct pollfd input = { .fd = PQsocket(pg), .events = POLLIN };
		uint64_t now = now_microseconds();

		if (now >= until)
			return false;
		if (poll(&input, 1, (int)((until - now) / 1000) + 1) > 0 && !PQconsumeInput(pg))
			return true;
	}
	return true;
}

/* The statement's last result; NULL: it does not end, nor do timeouts end it. */
static PGresult *execute(PGconn *pg, const char *sql, const char *rows)
{
	uint64_t until = now_microseconds() + 2 * statement_microseconds + 4000000;
	PGresult *last = NULL, *next = NULL;

	if (!PQsendQuery(pg, sql))
		return PQmakeEmptyPGresult(pg, PGRES_FATAL_ERROR);
	do {
		if (!wait_for_result(pg, until)) {
			PQclear(last);
			return NULL;
		}
		next = PQgetResult(pg);
		if (next && PQresultStatus(next) == PGRES_COPY_IN) {
			PQputCopyData(pg, rows, (int)strlen(rows));
			PQputCopyEnd(pg, NULL);
		}
		if (next) {
			PQclear(last);
			last = next;
		}
	} while (next);
	return last ? last : PQmakeEmptyPGresult(pg, PGRES_FATAL_ERROR);
}

/* The address space of a session's process. */
static long megabytes_of(const PGconn *pg)
{
	long n_pages = 0;
	char path[60];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/statm", PQbackendPID(pg));
	file = fopen(path, "r");
	if (file && fscanf(file, "%ld", &n_pages) != 1)
		n_pages = 0;
	if (file)
		fclose(file);
	return n_pages * sysconf(_SC_PAGESIZE) >> 20;
}

static bool is_answer(const PGresult *result)
{
	return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

/* The error is one that PostgreSQL raises by its own checksum of a page, or one that names the index. */
static bool names_index(const struct patient *patient, const char *message)
{
	return strstr(message, patient->subject->index) || strstr(message, "invalid page in block");
}

/* A forged TID leads to where the table has no row; the error is the table's. */
static bool is_of_table(const char *message)
{
	return strstr(message, "could not read block") || strstr(message, "could not open file") ||
	       strstr(message, "is not visible") || strstr(message, "tuple offset out of range");
}

static const char *const slow = "slow", *const growth = "growth";

static void judge_error(struct patient *patient, const char *sql, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	n_errors++;
	patient->n_slow += state && strcmp(state, "57014") == 0;
	state = state ? state : "";
	message = message ? message : "";
	if (strcmp(state, "57014") == 0)
		found(slow, "%.300s: %s", sql, message);
	else if (strcmp(state, "53200") == 0 || strstr(message, "invalid memory alloc request size"))
		found("memory", "%.300s: %s", sql, message);
	else if (strcmp(state, "53100") == 0 || strcmp(state, "58030") == 0 || strstr(message, "could not extend file"))
		found(growth, "%.300s: %s", sql, message);
	else if (!names_index(patient, message) && !(damage.is_forged && (strncmp(state, "22", 2) == 0 || is_of_table(message))))
		found("error without the index's name", "%.300s: %s %s", sql, state, message);
}

static void judge_growth(struct patient *patient, const char *sql)
{
	struct stat file;

	if (stat(patient->path, &file) == 0 && file.st_size > patient->most_bytes) {
		found(growth, "%.300s: %lld bytes, not %lld", sql, (long long)file.st_size, patient->most_bytes);
		patient->most_bytes = 2 * (long long)file.st_size;
	}
}

/* Runs a statement on the damaged index. Its answer, which is the caller's to clear; NULL: it had none. */
static PGresult *ask(struct patient *patient, const char *sql, const char *rows)
{
	uint64_t began = now_microseconds();
	PGresult *result;

	if (patient->is_lost || patient->n_slow >= MOST_SLOW)
		return NULL;
	n_statements++;
	result = execute(patient->pg, sql, rows);
	if (!result) {
		found("hangs", "%.300s: has %ld MB by now", sql, megabytes_of(patient->pg));
		patient->is_lost = true;
	} else if (PQstatus(patient->pg) == CONNECTION_BAD) {
		found("crash", "%.300s: %s", sql, PQerrorMessage(patient->pg));
		patient->is_lost = true;
	} else if (!is_answer(result)) {
		judge_error(patient, sql, result);
	} else if (now_microseconds() - began > statement_microseconds + statement_microseconds / 2) {
		found(slow, "%.300s: %.1f s", sql, (double)(now_microseconds() - began) / 1e6);
		patient->n_slow++;
	}
	judge_growth(patient, sql);
	if (result && is_answer(result) && !patient->is_lost)
		return result;
	PQclear(result);
	return NULL;
}

static bool run(struct patient *patient, const char *sql, const char *rows)
{
	PGresult *result = ask(patient, sql, rows);

	PQclear(result);
	return result != NULL;
}

/* ---- answers ---- */

/* Functions of pairs: the index's are exact but for their last step, a plain plan's are right up to rounding. */
static bool is_of_pair(const char *column)
{
	return strncmp(column, "corr_", 5) == 0 || strncmp(column, "covar_", 6) == 0 || strncmp(column, "regr_", 5) == 0;
}

static bool same_value(const PGresult *a, const PGresult *b, int row, int column)
{
	const char *x = PQgetvalue(a, row, column), *y = PQgetvalue(b, row, column);
	double of_x, of_y;

	if (PQgetisnull(a, row, column) != PQgetisnull(b, row, column))
		return false;
	if (strcmp(x, y) == 0 || !is_of_pair(PQfname(b, column)))
		return strcmp(x, y) == 0;
	of_x = strtod(x, NULL);
	of_y = strtod(y, NULL);
	return fabs(of_x - of_y) <= 1e-9 * fmax(fabs(of_x), fabs(of_y));
}

static bool same_rows(const PGresult *a, const PGresult *b)
{
	if (PQntuples(a) != PQntuples(b) || PQnfields(a) != PQnfields(b))
		return false;
	for (int row = 0; row < PQntuples(a); row++)
		for (int i = 0; i < PQnfields(a); i++)
			if (!same_value(a, b, row, i))
				return false;
	return true;
}

/* What differs first, for a report. */
static const char *first_difference(const PGresult *actual, const PGresult *right)
{
	static char words[500];
	int n_rows = PQntuples(actual) < PQntuples(right) ? PQntuples(actual) : PQntuples(right);

	snprintf(words, sizeof words, "%d rows, not %d", PQntuples(actual), PQntuples(right));
	for (int row = 0; row < n_rows; row++)
		for (int i = 0; i < PQnfields(right); i++)
			if (!same_value(actual, right, row, i)) {
				snprintf(words, sizeof words, "row %d, %s: %.100s, not %.100s", row, PQfname(right, i),
					 PQgetvalue(actual, row, i), PQgetvalue(right, row, i));
				return words;
			}
	return words;
}

/* Asks in the way that reads the index. */
static PGresult *ask_index(struct patient *patient, const struct subject_question *question)
{
	PGresult *result;
	char setting[80];

	if (question->setting) {
		snprintf(setting, sizeof setting, "SET %s = off", question->setting);
		run(patient, setting, NULL);
	}
	result = ask(patient, question->sql, NULL);
	if (question->setting) {
		snprintf(setting, sizeof setting, "RESET %s", question->setting);
		run(patient, setting, NULL);
	}
	return result;
}

static void compare(struct patient *patient, const char *sql, const PGresult *actual, const PGresult *right, bool counts)
{
	n_answers++;
	if (same_rows(actual, right))
		return;
	patient->n_wrong++;
	if (counts)
		found("wrong answer", "%.300s: %s", sql, first_difference(actual, right));
}

static const char *const hide_index = "BEGIN; UPDATE pg_index SET indisvalid = false WHERE indexrelid = '%s'::regclass";

static PGresult *plain_answer(PGconn *plain, const struct subject *subject, const char *sql)
{
	PGresult *result;

	client_run(plain, hide_index, subject->index);
	result = client_rows(plain, "%s", sql);
	client_run(plain, "ROLLBACK");
	return result;
}

/* ---- a damaged index ---- */

static const struct subject_question *pick_question(const struct subject *subject, struct random *dice)
{
	return &subject->questions[random_below(dice, subject->n_questions)];
}

/* Questions to the index as it was damaged; then the check has something to say if an answer was wrong. */
static void ask_at_first(struct patient *patient, const struct sound *sound, struct random *dice)
{
	const struct subject *subject = patient->subject;
	unsigned n = 5 + (unsigned)random_below(dice, 6);
	struct text check;

	while (n-- > 0) {
		const struct subject_question *question = pick_question(subject, dice);
		PGresult *actual = ask_index(patient, question);

		if (actual)
			compare(patient, question->sql, actual, sound->answers[question - subject->questions], !damage.is_forged);
		PQclear(actual);
	}
	text_set(&check, "SELECT iforest_check('%s', true)", subject->index);
	if (run(patient, check.at, NULL) && patient->n_wrong > 0)
		found("check is silent", "%u answers were wrong", patient->n_wrong);
}

static void change(struct patient *patient, struct random *dice)
{
	unsigned n = 3 + (unsigned)random_below(dice, 5);

	while (n-- > 0) {
		const struct subject_statement *statement = &patient->subject->statements[random_below(dice, patient->subject->n_statements)];

		run(patient, statement->sql, statement->rows);
	}
}

static void ask_again(struct patient *patient, bool counts, struct random *dice)
{
	for (unsigned n = 0; n < 4 && !patient->is_lost; n++) {
		const struct subject_question *question = pick_question(patient->subject, dice);
		PGresult *actual = ask_index(patient, question), *right;

		if (!actual)
			continue;
		right = plain_answer(patient->plain, patient->subject, question->sql);
		compare(patient, question->sql, actual, right, counts);
		PQclear(right);
		PQclear(actual);
	}
}

/* REINDEX and all that follows succeeds. */
static void mend(struct patient *patient, struct random *dice)
{
	unsigned n_errors_before = n_errors;
	struct text sql;

	patient->n_slow = 0;
	text_set(&sql, "REINDEX INDEX %s", patient->subject->index);
	run(patient, sql.at, NULL);
	ask_again(patient, true, dice);
	text_set(&sql, "SELECT iforest_check('%s', true)", patient->subject->index);
	run(patient, sql.at, NULL);
	if (n_errors > n_errors_before)
		found("not mended", "an error after REINDEX INDEX");
}

static PGconn *connect_to(const char *database)
{
	const char *names[] = { "host", "dbname", "options", NULL };
	const char *values[] = { server.folder, database, "-c client_min_messages=error", NULL };
	PGconn *pg = PQconnectdbParams(names, values, 0);

	if (PQstatus(pg) != CONNECTION_OK)
		client_fail("cannot connect: %s", PQerrorMessage(pg));
	return pg;
}

/* A session goes by the number of its process to one of the chains of pending entries: to this one, so that a round can be
 * repeated. */
static PGconn *connect_for_chain(const char *database, unsigned chain)
{
	PGconn *pg = connect_to(database);

	while ((unsigned)PQbackendPID(pg) % 8 != chain) {
		PQfinish(pg);
		pg = connect_to(database);
	}
	return pg;
}

static void read_file(const char *path, struct damage_file *to)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		client_fail("cannot read %s", path);
	to->n_bytes = fread(to->bytes, 1, sizeof to->bytes, file);
	fclose(file);
	if (to->n_bytes > sizeof to->bytes / 2)
		client_fail("%s is too long to be damaged", path);
}

/* The file keeps its owner. */
static void write_file(const char *path, const struct damage_file *from)
{
	FILE *file = fopen(path, "r+b");

	if (!file || fwrite(from->bytes, 1, from->n_bytes, file) != from->n_bytes || fflush(file) ||
	    ftruncate(fileno(file), (off_t)from->n_bytes))
		client_fail("cannot write %s", path);
	fclose(file);
}

/* False: the server has to be put back. */
static bool damage_and_ask(const char *database, long long oid, size_t number, bool has_checksums, struct random *dice)
{
	static struct damage_file file;
	struct patient patient = { .subject = &subjects[number] };

	n_indexes++;
	memset(found_before, 0, sizeof found_before);
	memcpy(&file, &sounds[number].file, sizeof file);
	damage_file(&damage, &file, &sounds[number].earlier, has_checksums, dice);
	snprintf(patient.path, sizeof patient.path, "%s/data/base/%lld/%s", server.folder, oid, sounds[number].file_name);
	write_file(patient.path, &file);
	patient.most_bytes = 4 * (long long)(file.n_bytes > sounds[number].file.n_bytes ? file.n_bytes : sounds[number].file.n_bytes) +
			     64 * DAMAGE_BLOCK_BYTES;
	patient.pg = connect_for_chain(database, (unsigned)random_below(dice, 8));
	patient.plain = connect_to(database);
	client_run(patient.pg, "SET enable_seqscan = off; SET statement_timeout = %" PRIu64, statement_microseconds / 1000);
	ask_at_first(&patient, &sounds[number], dice);
	change(&patient, dice);
	ask_again(&patient, !damage.is_forged, dice);
	if (random_chance(dice, 40))
		mend(&patient, dice);
	PQfinish(patient.pg);
	PQfinish(patient.plain);
	return !patient.is_lost;
}

/* ---- rounds ---- */

static void read_sound(PGconn *pg, const struct subject *subject, struct damage_file *to, char *file_name, size_t n)
{
	PGresult *path = client_rows(pg, "SELECT pg_relation_filepath('%s')", subject->index);
	struct text whole;

	client_run(pg, "CHECKPOINT");
	text_set(&whole, "%s/data/%s", server.folder, PQgetvalue(path, 0, 0));
	snprintf(file_name, n, "%s", strrchr(whole.at, '/') + 1);
	read_file(whole.at, to);
	PQclear(path);
}

/* Each question reads the index, and what the index answers is right. */
static void note_answers(PGconn *pg, const struct subject *subject, struct sound *sound)
{
	struct patient sane = { .subject = subject, .pg = pg, .most_bytes = MOST_FILE_BYTES };

	assert_true(subject->n_questions <= MOST_QUESTIONS);
	for (size_t i = 0; i < subject->n_questions; i++) {
		const struct subject_question *question = &subject->questions[i], explain = { .setting = question->setting };
		struct subject_question explained = explain;
		struct text sql, plan;
		PGresult *lines, *actual;

		text_set(&sql, "EXPLAIN (COSTS OFF) %s", question->sql);
		explained.sql = sql.at;
		lines = ask_index(&sane, &explained);
		text_set(&plan, "%s", "");
		for (int row = 0; lines && row < PQntuples(lines); row++)
			text_add(&plan, "%s\n", PQgetvalue(lines, row, 0));
		if (!strstr(plan.at, question->plan))
			client_fail("not by %s: %s\n%s", question->plan, question->sql, plan.at);
		PQclear(lines);
		sound->answers[i] = plain_answer(pg, subject, question->sql);
		actual = ask_index(&sane, question);
		if (!actual || !same_rows(actual, sound->answers[i]))
			client_fail("the sound index answers wrongly: %s: %s", question->sql,
				    actual ? first_difference(actual, sound->answers[i]) : "no answer");
		PQclear(actual);
	}
}

static void make_sound(void)
{
	unsigned kinds = 0;
	PGconn *pg;

	assert_true(n_subjects <= MOST_SUBJECTS);
	server_start(&server);
	pg = client_connect(server.folder);
	client_run(pg, "CREATE DATABASE sound");
	PQfinish(pg);
	pg = connect_to("sound");
	client_run(pg, "CREATE EXTENSION iforest");
	client_run(pg, "SET enable_seqscan = off");
	for (size_t i = 0; i < n_subjects; i++) {
		struct sound *sound = &sounds[i];

		sound->file.n_values = subjects[i].n_values;
		client_run(pg, "%s", subjects[i].before);
		client_run(pg, "%s", subjects[i].vacuum);
		read_sound(pg, &subjects[i], &sound->earlier, sound->file_name, sizeof sound->file_name);
		for (unsigned part = 0; part < COUNT_OF(subjects[i].after); part++) {
			PGconn *other = connect_for_chain("sound", 2 + 3 * part);

			client_run(other, "%s", subjects[i].after[part]);
			PQfinish(other);
		}
		read_sound(pg, &subjects[i], &sound->file, sound->file_name, sizeof sound->file_name);
		note_answers(pg, &subjects[i], sound);
		kinds |= damage_kinds(&sound->file);
	}
	assert_int_equal(kinds | 1, 0xff);
	PQfinish(pg);
	server_save(&server);
	server_limit_sessions(&server, MOST_FILE_BYTES, MOST_ADDRESS_BYTES);
}

/* A damaged copy of the database. */
static void damage_round(uint64_t seed, bool has_checksums)
{
	struct random dice = random_from(seed);
	PGconn *pg = client_connect(server.folder);
	bool is_up = true;
	long long oid;

	snprintf(round_name, sizeof round_name, "IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1 IFOREST_CHECKSUMS=%s", seed,
		 has_checksums ? "on" : "off");
	client_note("%s", round_name);
	client_run(pg, "CREATE DATABASE damaged TEMPLATE sound STRATEGY file_copy");
	oid = client_number(pg, "SELECT oid FROM pg_database WHERE datname = 'damaged'");
	for (size_t i = 0; i < n_subjects && is_up; i++) {
		/* what is asked of one index does not hang on what became of others */
		struct random own = random_from(random_next(&dice));

		is_up = damage_and_ask("damaged", oid, i, has_checksums, &own);
	}
	if (is_up)
		client_run(pg, "DROP DATABASE damaged WITH (FORCE)");
	PQfinish(pg);
	if (!is_up) {
		server_restore(&server);
		server_limit_sessions(&server, MOST_FILE_BYTES, MOST_ADDRESS_BYTES);
	}
}

static uint64_t from_environment(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : usual;
}

static void damage_often(const char *name, bool has_checksums)
{
	const char *request = getenv("IFOREST_CHECKSUMS");
	uint64_t until = now_microseconds() + 1000000 * from_environment("IFOREST_SECONDS", 0);
	unsigned n_rounds = random_rounds(8);

	if (request && *request && strcmp(request, has_checksums ? "on" : "off") != 0)
		skip();
	n_found = n_statements = n_answers = n_errors = n_indexes = 0;
	statement_microseconds = 1000000 * from_environment("IFOREST_STATEMENT_SECONDS", 2);
	server_make(&server, name, has_checksums ? "--data-checksums" : NULL,
		    "shared_buffers = 4MB\nrestart_after_crash = off\nlog_min_messages = fatal\njit = off\nTimeZone = 'UTC'\n"
		    "max_parallel_workers_per_gather = 0\nwal_level = minimal\nmax_wal_senders = 0");
	make_sound();
	for (unsigned round = 0; round < n_rounds || now_microseconds() < until; round++)
		damage_round(random_seed() + round, has_checksums);
	server_end(&server, SHUT_DOWN);
	printf("%u damaged indexes, %u statements: %u answers compared, %u errors, %u findings\n", n_indexes, n_statements, n_answers,
	       n_errors, n_found);
	assert_true(n_rounds == 1 || (n_answers > 0 && n_errors > 0));
	assert_int_equal(n_found, 0);
}

static void without_checksums_of_the_server(void **state)
{
	(void)state;
	damage_often("unchecked", false);
}

static void with_checksums_of_the_server(void **state)
{
	(void)state;
	damage_often("checked", true);
}

static int end_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_subjects; i++)
		for (size_t q = 0; q < MOST_QUESTIONS; q++) {
			PQclear(sounds[i].answers[q]);
			sounds[i].answers[q] = NULL;
		}
	server_abandon(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(without_checksums_of_the_server, end_all),
		cmocka_unit_test_teardown(with_checksums_of_the_server, end_all),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
