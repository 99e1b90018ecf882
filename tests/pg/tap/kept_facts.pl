# A session keeps what it has read of an index: manifest, extents, sizes of files, pages that were found whole. Between two executions
# of its prepared statement another session flushes, merges, removes, truncates and builds anew: its answers stay those of the table, on
# the primary and on a standby.
use strict;
use warnings FATAL => 'all';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest qw(replica_of);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = '1h'\nwal_receiver_status_interval = 1");
$primary->start;
$primary->safe_psql('postgres', <<'END');
CREATE EXTENSION iforest;
CREATE TABLE t(who integer, ts integer, dur integer);
INSERT INTO t SELECT i % 5, i, i * 7919 % 1000 FROM generate_series(1, 20000) i;
CREATE INDEX t_if ON t USING iforest (who, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 2);
ANALYZE t;
END
my $replica = replica_of($primary, 'hot_standby_feedback = on');

# Of all names, of some that come later, of one that is there and of one that comes.
my %names = (all => '', some => '1,7,3,9', one => '2', later => '7');

# A session that stays, with prepared statements.
sub session
{
	my ($node) = @_;
	my %session = (name => $node->name, in => '', out => '', err => '');

	$session{run} = IPC::Run::start([ 'psql', '-XAtq', $node->connstr('postgres') ],
		'<', \$session{in}, '>', \$session{out}, '2>', \$session{err}, IPC::Run::timeout(180));
	ask(\%session, <<'END');
SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
END
	for my $kind (sort keys %names)
	{
		my $question = 'SELECT who, count(*), sum(dur), min(dur), max(dur) FROM t WHERE ts >= $1 AND ts < $2'
			. ($names{$kind} ? " AND who = ANY ('{$names{$kind}}')" : '') . ' GROUP BY who';

		ask(\%session, "PREPARE ${kind}_by_$_(integer, integer) AS $question;") for ('index', 'table');
	}
	return \%session;
}

sub ask
{
	my ($session, $sql) = @_;

	$session->{out} = '';
	$session->{in} .= "$sql\n\\echo done\n";
	$session->{run}->pump until $session->{out} =~ /^done$/m;
	return $session->{out} =~ s/^done\n//mr;
}

my @windows = ([ -2147483648, 2147483647 ], [ 1, 10 ], [ 777, 1778 ], [ 11999, 12003 ], [ 19000, 26000 ], [ 24990, 60000 ]);

sub answers
{
	my ($session, $statement) = @_;

	return join '', map { join "\n", sort split /\n/, ask($session, "EXECUTE $statement($_->[0], $_->[1]);") } @windows;
}

sub is_right
{
	my ($session, $after) = @_;

	ask($session, 'SET enable_seqscan = off; SET iforest.enable = on;');
	my %plan = map { $_ => ask($session, "EXPLAIN EXECUTE ${_}_by_index(1, 10);") } keys %names;
	my %found = map { $_ => answers($session, "${_}_by_index") } keys %names;
	ask($session, 'RESET enable_seqscan; SET iforest.enable = off;');
	for my $kind (sort keys %names)
	{
		like($plan{$kind}, qr/IForestAggregate/, "$session->{name}, after $after: the index is asked for $kind");
		is($found{$kind}, answers($session, "${kind}_by_table"), "$session->{name}, after $after: $kind as the table says");
	}
	is($session->{err}, '', "$session->{name}, after $after: no error");
}

my $n_more = 20000;

sub more
{
	my $first = $n_more + 1;

	$n_more += 3000;
	return "INSERT INTO t SELECT i % 5, i, i * 31 % 1000 FROM generate_series($first, $n_more) i";
}

my @work = (
	'nothing' => [],
	'the first VACUUM' => ['VACUUM t'],
	'rows taken back' => [ 'BEGIN; INSERT INTO t SELECT i % 5, i, 1 FROM generate_series(1, 3000) i; ROLLBACK', "SELECT iforest_merge('t_if')" ],
	'appending' => [ more() ],
	'a flush' => [ 'INSERT INTO t VALUES (1, 5, 123456)', "SELECT iforest_merge('t_if')" ],
	'another flush' => [ more(), "SELECT iforest_merge('t_if')" ],
	'a new name' => ['INSERT INTO t SELECT 7, i, -i FROM generate_series(700, 900) i'],
	'its flush, and another' => [ "SELECT iforest_merge('t_if')", 'INSERT INTO t SELECT 9, i, -i FROM generate_series(7, 9000, 7) i' ],
	'a merge' => ["SELECT iforest_merge('t_if', true)"],
	'an update' => ['UPDATE t SET dur = dur + 1 WHERE ts % 3 = 0'],
	'removal' => [ 'DELETE FROM t WHERE ts % 4 = 1', 'VACUUM (INDEX_CLEANUP on) t' ],
	'reuse of rows' => [ more(), 'VACUUM t' ],
	'a shorter table' => [ 'DELETE FROM t WHERE ts > 15000', 'VACUUM (INDEX_CLEANUP on, TRUNCATE on) t' ],
	'a longer table' => [ more(), more() ],
	'its VACUUM' => ['VACUUM t'],
	'reuse of pages' => [ more(), "SELECT iforest_merge('t_if', true)", 'VACUUM t', more(), "SELECT iforest_merge('t_if', true)" ],
	'REINDEX' => ['REINDEX INDEX t_if'],
	'REINDEX CONCURRENTLY' => [ more(), 'REINDEX INDEX CONCURRENTLY t_if' ],
	'VACUUM FULL' => ['VACUUM FULL t'],
	'TRUNCATE' => ['TRUNCATE t'],
	'filling it again' => [ 'INSERT INTO t SELECT 9 - i % 4, i, 5 FROM generate_series(1, 5000) i', 'VACUUM t' ],
	'another index' => [ 'DROP INDEX t_if', 'CREATE INDEX t_if ON t USING iforest (who, ts) INCLUDE (dur)' ]);
my @sessions = (session($primary), session($replica));

while (my ($after, $statements) = splice @work, 0, 2)
{
	$primary->safe_psql('postgres', $_) for @$statements;
	$primary->wait_for_catchup($replica);
	is_right($_, $after) for @sessions;
}

# a table that its own transaction makes and empties has one file all along
my $own = $sessions[0];
my $own_question = 'SELECT count(*), sum(dur), max(dur) FROM made WHERE ts >= 10 AND ts < 4000';
ask($own, <<'END');
SET enable_seqscan = off; SET iforest.enable = on;
BEGIN; CREATE TABLE made(ts integer, dur integer); CREATE INDEX ON made USING iforest (ts) INCLUDE (dur);
INSERT INTO made SELECT i, i FROM generate_series(1, 30000) i;
END
is(ask($own, "$own_question;"), "3990|7997955|3999\n", 'a table of this transaction');
is(ask($own, "TRUNCATE made; INSERT INTO made SELECT i, 1 FROM generate_series(1, 100) i; $own_question;"),
	"91|91|1\n", 'the same, emptied and filled again');
ask($own, 'ROLLBACK;');
is($own->{err}, '', 'no error');

# the names of a session's question stay, and other sessions add many: these are not passed to find the few
$primary->safe_psql('postgres', <<'END');
CREATE TABLE grows(who integer, ts integer, dur integer);
CREATE INDEX ON grows USING iforest (who, ts) INCLUDE (dur);
INSERT INTO grows SELECT i % 100, i % 100, 1 FROM generate_series(1, 10000) i;
END
ask($own, "SET enable_seqscan = off; PREPARE few AS SELECT who, sum(dur) FROM grows WHERE who = ANY ('{" . join(',', 0 .. 79) . "}') AND ts < 10 GROUP BY who;");
my $looked_into = sub { ask($own, 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE few;') =~ /Series: (\d+)/ ? $1 : 'none' };
is($looked_into->(), 10, 'most names of the index: all are passed in one sweep, and ten have rows');
$primary->safe_psql('postgres', 'INSERT INTO grows SELECT i, i, 1 FROM generate_series(1000, 3999) i');
is($looked_into->(), 80, 'few names of the index: each is looked into');
is($own->{err}, '', 'no error');

for my $session (@sessions)
{
	$session->{in} .= "\\q\n";
	$session->{run}->finish;
}
done_testing();
