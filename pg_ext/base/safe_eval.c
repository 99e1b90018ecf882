#include "pg_ext/base/own.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "utils/lsyscache.h"

const char *iforest_own_function(Oid function)
{
	static const char prefix[] = "iforest_";
	const char *name = function < FirstNormalObjectId ? NULL : get_func_name(function);
	Oid extension;

	if (!name || strncmp(name, prefix, strlen(prefix)) != 0)
		return NULL;
	extension = get_extension_oid("iforest", true);
	return OidIsValid(extension) && getExtensionOfObject(ProcedureRelationId, function) == extension ? name : NULL;
}

bool iforest_is_own_function(Oid function, const char *name)
{
	const char *own = iforest_own_function(function);

	return own && strcmp(own, name) == 0;
}
