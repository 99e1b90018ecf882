#include "pg_ext/types/definition.h"

#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

static relopt_kind kind;

static relopt_enum_elt_def units[] = {
	{ "", IFOREST_UNIT_OF_TIME }, { "ns", IFOREST_UNIT_NS }, { "us", IFOREST_UNIT_US }, { "ms", IFOREST_UNIT_MS },
	{ "s", IFOREST_UNIT_S }, { NULL, 0 }
};

void iforest_options_register(void)
{
	kind = add_reloption_kind();
	add_string_reloption(kind, "duration", "INCLUDEd column that is the duration of a span", NULL, NULL,
			     AccessExclusiveLock);
	add_string_reloption(kind, "end", "INCLUDEd column that is the end of a span", NULL, NULL, AccessExclusiveLock);
	add_string_reloption(kind, "variance", "INCLUDEd columns whose sums of squares are kept", NULL, NULL,
			     AccessExclusiveLock);
	add_string_reloption(kind, "sketch", "INCLUDEd columns of which sketches are kept", NULL, NULL,
			     ShareUpdateExclusiveLock);
	add_enum_reloption(kind, "duration_unit", "unit of the duration where the time column is a timestamp", units,
			   IFOREST_UNIT_OF_TIME, "Valid values are \"ns\", \"us\", \"ms\" and \"s\".", AccessExclusiveLock);
	add_int_reloption(kind, "pending_pages", "length at which a chain of pending pages is made into a run", 64, 1, 4096,
			  ShareUpdateExclusiveLock);
	add_bool_reloption(kind, "background_merge", "merge in a background worker when runs pile up", true,
			   ShareUpdateExclusiveLock);
}

static const relopt_parse_elt elements[] = {
	{ .optname = "duration",
	  .opttype = RELOPT_TYPE_STRING,
	  .offset = offsetof(struct iforest_options, duration) },
	{ .optname = "end", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct iforest_options, end) },
	{ .optname = "variance",
	  .opttype = RELOPT_TYPE_STRING,
	  .offset = offsetof(struct iforest_options, variance) },
	{ .optname = "sketch", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct iforest_options, sketch) },
	{ .optname = "duration_unit",
	  .opttype = RELOPT_TYPE_ENUM,
	  .offset = offsetof(struct iforest_options, duration_unit) },
	{ .optname = "pending_pages",
	  .opttype = RELOPT_TYPE_INT,
	  .offset = offsetof(struct iforest_options, pending_pages) },
	{ .optname = "background_merge",
	  .opttype = RELOPT_TYPE_BOOL,
	  .offset = offsetof(struct iforest_options, background_merge) },
};

static bool is_known(const char *name, size_t n_bytes)
{
	for (size_t i = 0; i < lengthof(elements); i++)
		if (strlen(elements[i].optname) == n_bytes && strncmp(elements[i].optname, name, n_bytes) == 0)
			return true;
	return false;
}

/* Raises PostgreSQL's own error for a name that is none, with the names that there are, which that does not tell. */
static void refuse_unknown(Datum options)
{
	Datum *texts;
	int n;

	if (DatumGetPointer(options) == NULL)
		return;
	deconstruct_array(DatumGetArrayTypeP(options), TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++) {
		char *name = TextDatumGetCString(texts[i]);
		size_t n_bytes = strcspn(name, "=");

		if (!is_known(name, n_bytes))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("unrecognized parameter \"%.*s\"", (int)n_bytes, name),
				errhint("Parameters of iforest indexes are duration, \"end\", duration_unit, variance, sketch, "
					"pending_pages and background_merge."));
	}
}

bytea *iforest_options_parse(Datum options, bool validate)
{
	if (validate)
		refuse_unknown(options);
	return build_reloptions(options, validate, kind, sizeof(struct iforest_options), elements, lengthof(elements));
}
