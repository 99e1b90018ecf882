#include "pg_ext/sql/sqlgen_shards.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

char *ifp_of_table(const char *query, const char *table)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *query; query++) {
		if (*query == *IFP_SHARD)
			appendStringInfoString(&text, table);
		else
			appendStringInfoChar(&text, *query);
	}
	return text.data;
}

/* Appends an expression that builds the query from pieces and arguments. Citus inserts the shard by format(), so percent signs
 * are doubled. Those of arguments are outside quotes. */
static void add_command(StringInfo text, const char *query, const Oid *types)
{
	StringInfoData piece;
	char quote = '\0';

	initStringInfo(&piece);
	appendStringInfoString(&piece, "SELECT coalesce(pg_catalog.json_agg(a), '[]') FROM (");
	for (; *query; query++) {
		if (*query == '\'' || *query == '"')
			quote = !quote ? *query : quote == *query ? '\0' : quote;
		if (*query == *IFP_SHARD) {
			appendStringInfoString(&piece, "%1$s");
		} else if (*query == '%') {
			appendStringInfoString(&piece, "%%");
		} else if (!quote && *query == '$' && query[1] >= '1' && query[1] <= '9') {
			int argument = *++query - '0';

			appendStringInfo(text, "%s || pg_catalog.replace(pg_catalog.quote_nullable($%d), '%%', '%%%%') || ",
					 quote_literal_cstr(psprintf("%s(", piece.data)), argument);
			resetStringInfo(&piece);
			appendStringInfo(&piece, "::%s)", format_type_be(types[argument - 1]));
		} else {
			appendStringInfoChar(&piece, *query);
		}
	}
	appendStringInfoString(&piece, ") AS a");
	appendStringInfoString(text, quote_literal_cstr(piece.data));
}

char *ifp_shards_body(const char *table, const char *query, const Oid *types, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text,
			 "DECLARE\n\tanswer record;\nBEGIN\n\tFOR answer IN SELECT * FROM "
			 "pg_catalog.run_command_on_shards(%s::pg_catalog.regclass, ",
			 quote_literal_cstr(table));
	add_command(&text, query, types);
	appendStringInfoString(
		&text, ") LOOP\n\t\tIF NOT answer.success THEN\n\t\t\tRAISE EXCEPTION 'shard % does not answer: %', "
		       "answer.shardid, answer.result;\n\t\tEND IF;\n"
		       "\t\tRETURN QUERY SELECT * FROM pg_catalog.json_to_recordset(answer.result::pg_catalog.json) AS a(");
	for (int i = 0; i < columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(columns, i);

		appendStringInfo(&text, "%s%s %s", i == 0 ? "" : ", ", quote_identifier(NameStr(column->attname)),
				 format_type_be_qualified(column->atttypid));
	}
	appendStringInfoString(&text, ");\n\tEND LOOP;\nEND");
	return text.data;
}
