/* base/owner_context.h -- The rights of a table's owner, with which expressions and conditions of its indexes are evaluated.
 *
 * Expressions, conditions and the functions that they call are the owner's code. Planning them, or reading them from the
 * relation cache, already runs such code, because constant calls are folded. So a command that another user may give changes
 * the user as soon as the table is locked, as REINDEX and VACUUM do: to the owner, in a security-restricted operation, with a
 * level of settings of its own, and with the search path "pg_catalog, pg_temp". The latter keeps the caller from putting
 * functions in the place of those that the owner's code calls; PostgreSQL's own commands do so since version 17.
 */
#ifndef IFP_BASE_OWNER_CONTEXT_H
#define IFP_BASE_OWNER_CONTEXT_H

#include "pg_ext/base/engine.h"

/* The user and the level of settings to return to. */
struct ifp_owner_context {
	Oid user;
	int security, level;
};

/* Becomes the owner of the table. An error in between restores the user and the settings, as the (sub)transaction ends.
 * Requires  privileges of the caller have been checked. */
struct ifp_owner_context ifp_become_owner(Relation table);

/* Restores the user and the settings. */
void ifp_leave_owner(const struct ifp_owner_context *context);

#endif
