#include "life.h"

void life_live(const struct life *life, sqlite3 *db, struct random *random)
{
	life->expect(db, random, 6);
	run(db, "%s", life->updates);
	life->expect(db, random, 4);
	run(db, "BEGIN; INSERT INTO d_if(d_if) VALUES('flush')");
	life->expect(db, random, 2);
	run(db, "ROLLBACK");
	life->expect(db, random, 2);
	run(db, "INSERT INTO d_if(d_if) VALUES('flush')");
	life->expect(db, random, 4);
	run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
	run(db, "%s; INSERT INTO d_if(d_if) VALUES('flush')", life->inserts);
	life->expect(db, random, 3);
	run(db, "DELETE FROM d WHERE ts < 1000000; INSERT INTO d_if(d_if) VALUES('flush')");
	life->expect(db, random, 3);
	run(db, "INSERT INTO d_if(d_if) VALUES('merge')");
	life->expect(db, random, 2);
	run(db, "INSERT INTO d_if(d_if) VALUES('optimize')");
	life->expect(db, random, 3);
	run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
	run_gives(db, "1\n", "SELECT count(DISTINCT run) FROM %s", life->kept);
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild')");
	life->expect(db, random, 2);
	run_gives(db, "1\n", "SELECT count(DISTINCT run) FROM %s", life->kept);
}

void life_lose_kept(const struct life *life, sqlite3 *db, struct random *random)
{
	run(db, "CREATE TABLE kept AS SELECT * FROM %s; DELETE FROM %s WHERE rowid %% 2", life->kept, life->kept);
	life->expect(db, random, 2);
	run(db, "DELETE FROM %s", life->kept);
	life->expect(db, random, 1);
	run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check'); INSERT INTO d_if(d_if) VALUES('merge')");
	run_gives(db, "0\n", "SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM %s)", life->kept);

	run(db, "UPDATE %s SET bytes = zeroblob(length(bytes))", life->kept);
	run_fails(db, life->damage, "%s", life->query);
	run_fails(db, life->damage, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
	run(db, "SELECT track, count FROM d_if(100, 2000000, 5)"); /* what is kept is not read if no query needs it */
	run(db, "UPDATE %s SET bytes = NULL", life->kept);
	run_fails(db, life->damage, "%s", life->query);
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild'); INSERT INTO d_if(d_if) VALUES('integrity-check')");
	life->expect(db, random, 1);
	run(db, "DROP TABLE %s", life->kept);
	run_fails(db, "", "%s", life->query);
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild')");
	life->expect(db, random, 1);
}
