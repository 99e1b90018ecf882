# A reader on a standby that answers from the index is stopped between its steps, while the primary deletes, vacuums, gives line pointers
# and pages of the index to others, and all of that is replayed: its answer is the table's, or it is told of the conflict.
# For a build whose readers can be stopped (pg_ext/base/test_points.h).
use strict;
use warnings FATAL => 'all';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = '1h'\nwal_receiver_status_interval = 1");
$primary->start;
$primary->safe_psql('postgres', <<'END');
CREATE EXTENSION iforest;
CREATE TABLE t(id integer, who integer, ts integer, dur integer);
CREATE INDEX t_if ON t USING iforest (who, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1);
CREATE VIEW by_who AS SELECT who, ts / 500, count(*), sum(dur), min(dur), max(ts) FROM t GROUP BY 1, 2;
CREATE TABLE wide(ts integer, dur integer);
CREATE INDEX wide_if ON wide USING iforest (ts) INCLUDE (dur) WITH (background_merge = off);
CREATE VIEW by_part AS SELECT ts / 9001, count(*), sum(dur), max(dur) FROM wide GROUP BY 1;
END
my $replica = replica_of($primary, "max_standby_streaming_delay = -1\nhot_standby_feedback = on");

my %work = (
	gone => 'DELETE FROM t WHERE id % 5 = 1 OR ts > 3380',
	delete => 'DELETE FROM t WHERE id % 7 = 2',
	update => 'UPDATE t SET dur = 3, who = 1 WHERE id % 4 = 0; UPDATE t SET id = -id WHERE id % 6 = 1',
	undone => 'BEGIN; INSERT INTO t SELECT i, i % 3, i - 5000, 3 FROM generate_series(5001, 5600) i; ROLLBACK',
	reuse => 'INSERT INTO t SELECT i, i % 3, i - 5000, 3 FROM generate_series(5001, 5900) i',
	new => 'INSERT INTO t SELECT i, 4, i - 6000, 3 FROM generate_series(6001, 6900) i',
	vacuum => 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) t',
	seal => "SELECT iforest_merge('t_if')",
	merge => "SELECT iforest_merge('t_if', true)",
	more => 'INSERT INTO wide SELECT i, i * 40503 % 16777213 FROM generate_series(1, 30000) i',
	rewrite => "SELECT iforest_merge('wide_if', true)");

sub run_work
{
	$primary->safe_psql('postgres', $work{$_}) for split ' ', shift;
}

# All that has happened is over for everybody, the standby included: its dead rows may be removed, its other rows are visible to all.
sub settle
{
	my $next = $primary->safe_psql('postgres', 'SELECT txid_current()');

	$primary->wait_for_catchup($replica);
	$primary->poll_query_until('postgres', "SELECT every(coalesce(backend_xmin::text::bigint, $next) >= $next) FROM pg_stat_replication")
	  or die 'the standby says that it needs what is over';
}

sub fill
{
	$primary->safe_psql('postgres', 'TRUNCATE t');
	$primary->safe_psql('postgres', 'INSERT INTO t SELECT i, i % 3, i, i % 7 FROM generate_series(1, 3000) i');
	settle();
	run_work('merge vacuum');
	$primary->safe_psql('postgres', 'INSERT INTO t SELECT i, i % 3, i, i % 7 FROM generate_series(3001, 3400) i');
}

my ($gate_in, $gate_out) = ('', '');
my $gate = IPC::Run::start([ 'psql', '-XAtq', $replica->connstr('postgres') ], '<', \$gate_in, '>', \$gate_out);

sub tell_gate
{
	my ($function) = @_;
	$gate_out = '';
	$gate_in .= "SELECT 'done' FROM (SELECT $function(1)) it;\n";
	$gate->pump until $gate_out =~ /done/;
}

my $n_readers = 0;

sub rows_of
{
	my ($view) = @_;

	return "SELECT count(*) || ': ' || string_agg($view\::text, ' ' ORDER BY $view\::text) FROM $view;";
}

# The answers of the index and of the table to the same snapshot; work is done while the reader is at the place.
sub answers_amid
{
	my ($place, $work, $waits, $question) = @_;
	my ($out, $err) = ('', '');
	$question = rows_of('by_who') if !defined $question;
	my $script = write_file("$PostgreSQL::Test::Utils::tmp_check/reader" . ++$n_readers . '.sql', "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET jit = off;
		BEGIN ISOLATION LEVEL REPEATABLE READ; SET iforest.pause_at = '$place'; $question
		SET iforest.enable = off; SET enable_seqscan = on; $question COMMIT;\n");

	tell_gate('pg_advisory_lock');
	my $reader = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $script, $replica->connstr('postgres') ],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	$replica->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die "the reader does not stop at $place";
	run_work($work);
	$primary->wait_for_catchup($replica) if $waits;
	$replica->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") if !$waits;
	tell_gate('pg_advisory_unlock');
	$reader->finish;
	return ($err, split /\n/, $out);
}

my @places = ('metapage read', 'pending read', 'map read', 'heap looked at', 'series read', 'runs read');
my @rounds = (
	[ 'on', '', 'delete vacuum reuse seal vacuum merge new merge vacuum' ],
	[ 'on', 'gone undone', 'vacuum reuse vacuum update vacuum merge delete vacuum merge' ],
	[ 'off', 'gone', 'vacuum' ],
	[ 'off', 'gone', 'vacuum reuse merge new merge reuse merge seal new merge' ],
	[ 'off', 'undone gone', 'merge vacuum merge reuse seal new merge merge' ]);
for my $round (@rounds)
{
	my ($feedback, $before, $during) = @$round;
	$replica->safe_psql('postgres', "ALTER SYSTEM SET hot_standby_feedback = $feedback");
	$replica->reload;
	for my $place (@places)
	{
		fill();
		run_work($before);
		settle();
		my ($errors, $by_index, $by_table) = answers_amid($place, $during, 1);
		is($by_index, $by_table, "feedback $feedback; $before; at '$place': $during");
		is($errors, '', "feedback $feedback; $before; at '$place': no error");
	}
}

# A page has been found in its buffer, and is not locked yet, when its block is given to another run: whose it is holds only under its lock.
$replica->safe_psql('postgres', 'ALTER SYSTEM SET hot_standby_feedback = off');
$replica->reload;
for my $place ('page to be borrowed', 'page to be copied')
{
	for my $question (rows_of('by_part'), 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' . rows_of('by_part'))
	{
		$primary->safe_psql('postgres', 'TRUNCATE wide');
		run_work('more rewrite');
		$primary->safe_psql('postgres', 'VACUUM wide');
		settle();
		my ($errors, @out) = answers_amid($place, 'more rewrite more rewrite more rewrite more rewrite', 1, $question);
		if ($question =~ /EXPLAIN/)
		{
			like(join("\n", @out), qr/Restarts: [1-9]/, "at '$place': its page is another run's then");
			next;
		}
		is($out[0], $out[1], "at '$place': merged, and its blocks given to others");
		is($errors, '', "at '$place': merged, no error");
	}
}

# What the reader still has to see is removed on the primary.
$replica->append_conf('postgresql.conf', "max_standby_streaming_delay = '50ms'");
$replica->reload;
for my $place ('metapage read', 'runs read')
{
	fill();
	$primary->wait_for_catchup($replica);
	my ($errors) = answers_amid($place, 'delete new vacuum', 0);
	like($errors, qr/conflict with recovery/, "no feedback, at '$place': cancelled");
}
$primary->wait_for_catchup($replica);
same_as_table_here();
$gate->finish;
done_testing();

sub same_as_table_here
{
	my $question = "SELECT string_agg(by_who::text, ' ' ORDER BY by_who::text) FROM by_who";
	is($replica->safe_psql('postgres', "SET enable_seqscan = off; $question"), $primary->safe_psql('postgres', "SET iforest.enable = off; $question"),
		'at the end, the standby answers as the primary');
	index_is_whole($replica, 't_if', 'at the end');
}
