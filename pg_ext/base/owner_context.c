#include "pg_ext/base/owner_context.h"

#include "miscadmin.h"
#include "utils/guc.h"

struct ifp_owner_context ifp_become_owner(Relation table)
{
	struct ifp_owner_context context;

	GetUserIdAndSecContext(&context.user, &context.security);
	SetUserIdAndSecContext(table->rd_rel->relowner, context.security | SECURITY_RESTRICTED_OPERATION);
	context.level = NewGUCNestLevel();
	(void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
				false);
	return context;
}

void ifp_leave_owner(const struct ifp_owner_context *context)
{
	AtEOXact_GUC(false, context->level);
	SetUserIdAndSecContext(context->user, context->security);
}
