/* base/known_functions.h -- Functions that are recognised by what they are, never by a name.
 *
 * The planner gives the extension's functions and aggregates a meaning of their own, and answers calls from an index without
 * calling them. A name, a schema or being a member of the extension proves nothing: the owner of a database may create a
 * function of any name and add it to the extension. So a function is the extension's only if it is written in C, lies in this
 * library, and has a symbol, argument types and a result type that belong together; an aggregate only if all of its functions
 * are, and its state, initial value and argument types are the right ones too. Only superusers can create C functions.
 *
 * "This library" is the file that the handler of the access method iforest is in, if the server calls the handler that is in
 * the memory of this process.
 *
 * What is found is kept until a function or an access method is created, altered or dropped. Cost  of a function that was
 * looked up before: a few instructions.
 */
#ifndef IFP_BASE_KNOWN_FUNCTIONS_H
#define IFP_BASE_KNOWN_FUNCTIONS_H

#include "pg_ext/base/engine.h"

#include "fmgr.h"

/* Tells the address of the handler, and begins to follow changes of the catalogs. Called once, when the library is loaded. */
void ifp_known_functions_register(PGFunction handler);

/* Returns the name that a function or aggregate of the extension was given by its scripts, which lasts as long as the process;
 * NULL for any other. */
const char *ifp_own_function(Oid function);

/* True if it is the extension's function of that name. */
bool ifp_is_own_function(Oid function, const char *name);

/* True if the extension is installed in the database. */
bool ifp_is_installed(void);

/* Returns the extension's function or aggregate of that name with these argument types; InvalidOid if the installed version
 * lacks it. */
Oid ifp_own_function_named(const char *name, int n, const Oid *types);

/* True if an error in the function may be caught without a subtransaction: it runs no other code than that of PostgreSQL and of
 * this library, and holds nothing but memory. That is so for immutable functions in C, and for those of PostgreSQL on numbers,
 * texts and times that depend on settings only. (The types of its arguments may have code of their own, which this does not
 * know.) */
bool ifp_holds_only_memory(Oid function);

#endif
