#include "pg_ext/base/library.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

char *ifp_library_of(Relation index)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(index->rd_amhandler));
	char *library;
	bool is_null;
	Datum name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", index->rd_amhandler);
	name = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);
	library = is_null ? pstrdup("") : TextDatumGetCString(name);
	ReleaseSysCache(tuple);
	return library;
}
