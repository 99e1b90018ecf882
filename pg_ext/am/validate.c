#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/am/validate.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

static bool complain(const char *family, const char *what, Oid oid, char *(*format)(Oid))
{
	ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
		errmsg("operator family \"%s\" of access method iforest: %s %s", family, format(oid), what));
	return false;
}

/* Every operator is one of the five comparisons, gives a boolean, and is used for searching only. */
static bool check_operators(CatCList *list, const char *family)
{
	bool result = true;

	for (int i = 0; i < list->n_members; i++) {
		Form_pg_amop form = (Form_pg_amop)GETSTRUCT(&list->members[i]->tuple);

		if (form->amopstrategy < 1 || form->amopstrategy > BTMaxStrategyNumber)
			result = complain(family, "has a strategy number that is none of btree's", form->amopopr,
					  format_operator);
		if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily))
			result = complain(family, "is an ordering operator", form->amopopr, format_operator);
		if (!check_amop_signature(form->amopopr, BOOLOID, form->amoplefttype, form->amoprighttype))
			result = complain(family, "has a wrong signature", form->amopopr, format_operator);
	}
	return result;
}

/* Every support function is a comparison of the class's type. */
static bool check_functions(CatCList *list, const char *family)
{
	bool result = true;

	for (int i = 0; i < list->n_members; i++) {
		Form_pg_amproc form = (Form_pg_amproc)GETSTRUCT(&list->members[i]->tuple);

		if (form->amprocnum != 1)
			result = complain(family, "has a support number other than 1", form->amproc, format_procedure);
		else if (!check_amproc_signature(form->amproc, INT4OID, true, 2, 2, form->amproclefttype,
						 form->amprocrighttype))
			result = complain(family, "has a wrong signature", form->amproc, format_procedure);
	}
	return result;
}

static char *family_name(Oid family)
{
	HeapTuple tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily)GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

bool iforest_validate(Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	CatCList *operators, *functions;
	char *family;
	Oid type;
	bool result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass)GETSTRUCT(tuple);
	type = form->opcintype;
	family = family_name(form->opcfamily);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(form->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(form->opcfamily));

	result = check_operators(operators, family);
	result = check_functions(functions, family) && result;
	for (int16 strategy = 1; strategy <= BTMaxStrategyNumber; strategy++)
		if (!OidIsValid(get_opfamily_member(form->opcfamily, type, type, strategy)))
			result = complain(family, "lacks a comparison operator", type, format_type_be);
	if (!OidIsValid(get_opfamily_proc(form->opcfamily, type, type, 1)))
		result = complain(family, "lacks its comparison function", type, format_type_be);

	ReleaseCatCacheList(operators);
	ReleaseCatCacheList(functions);
	ReleaseSysCache(tuple);
	return result;
}
