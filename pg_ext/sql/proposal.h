/* sql/proposal.h -- Proposal of an index: its columns and parameters, as wishes (planner/wish.h) need them, as SQL.
 *
 * A wish does not say which column is the time, and which are by columns or values where a type allows both. So there are several
 * proposals for a wish, of which the planner is asked (sql/advise.c). Wishes may share one.
 */
#ifndef IFP_SQL_PROPOSAL_H
#define IFP_SQL_PROPOSAL_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"

#include "pg_ext/planner/wish.h"

struct ifp_proposal {
	Oid table;
	double n_rows;
	AttrNumber time;
	List *by, *values; /* by number */
	List *products;	   /* as in a wish */
	char *definition;  /* the text after USING iforest */
	/* while it is tried: the indexes of copies of the table and of partitions with other columns (struct ifp_would_be_index), or
	 * the error of making them */
	List *indexes;
	const char *error;
};

/* The roles of columns whose type allows by columns and values: as their uses suggest, by columns where that is possible, values
 * where that is. */
enum ifp_roles { IFP_ROLES_BY_USE, IFP_ROLES_BY, IFP_ROLES_VALUES, IFP_N_ROLES };

/* Returns the columns that may be the time of the wish's index, the most likely first (IntList). wishes: all, of which the table's
 * decide which is the first. Requires  wish->table is valid. */
List *ifp_proposal_times(const struct ifp_wish *wish, const List *wishes);

/* Returns the proposal for a wish; NULL if there is none, for *reason. Requires  wish->table is valid. */
struct ifp_proposal *ifp_proposal_make(const struct ifp_wish *wish, AttrNumber time, enum ifp_roles roles, const char **reason);

/* Returns a proposal that satisfies both; NULL if two are better. */
struct ifp_proposal *ifp_proposal_merge(const struct ifp_proposal *a, const struct ifp_proposal *b);

/* Return the approximate size of the index, and the number of its values of a floating point type. */
double ifp_proposal_bytes(const struct ifp_proposal *proposal);
int ifp_proposal_n_reals(const struct ifp_proposal *proposal);

#endif
