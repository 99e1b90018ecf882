/* base/test_points.h -- Named points at which a test can stop a session.
 *
 * Only in test builds, with IFOREST_PAUSES defined. At a point named in the comma-separated list iforest.pause_at, the session
 * takes and releases advisory lock number iforest.pause_lock (default 1), which another session may hold.
 */
#ifndef IFP_BASE_TEST_POINTS_H
#define IFP_BASE_TEST_POINTS_H

#ifdef IFOREST_PAUSES
void ifp_test_point(const char *place);
void ifp_test_points_register(void);
#else
#define ifp_test_point(place) ((void)0)
#define ifp_test_points_register() ((void)0)
#endif

#endif
