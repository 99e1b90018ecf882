# Work on a fleet: indexes made while rows come, workers added, shards moved, a worker killed during questions and loads, old partitions dropped.
# After each of these the answers are those of a plain table, and the indexes of the shards are whole.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => Fleet::missing() if Fleet::missing();

my $n = 40000;
my ($front, @workers) = start_fleet(2, 'enable_seqscan = off', 'citus.defer_drop_after_shard_move = off');
my $hour = "date_bin('1 hour', ts, '2000-01-01 00:00 UTC'::timestamptz)";
my @questions = (
	'SELECT count(*), sum(dur), max(dur) FROM spans',
	"SELECT service, $hour AS hour, count(*), sum(dur), iforest_last(dur, ts, ctid) FROM spans GROUP BY 1, 2 ORDER BY 1, 2",
	"SELECT $hour AS hour, count(*), stddev(dur), iforest_quantile(iforest_sketch(dur), 0.9) FROM spans GROUP BY 1 ORDER BY 1");

sub answers_are_right
{
	my ($when, $n_indexes) = @_;
	same_answers($front, $_, "$when: $_") for @questions;
	my $plan = $front->safe_psql('postgres', "EXPLAIN (COSTS OFF) $questions[0]");
	my @answered = $plan =~ /Custom Scan \(IForestAggregate\)/g;
	is(scalar(@answered), 8, "$when: all shards answer from an index");
	my $checked = $front->safe_psql('postgres', "SELECT count(*), sum(result::integer), bool_and(success) FROM run_command_on_shards('spans',
		\$\$SELECT count(iforest_check(indexrelid, true)::text) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = '%s'::regclass AND relam = (SELECT oid FROM pg_am WHERE amname = 'iforest')\$\$)");
	is($checked, '8|' . 8 * $n_indexes . '|t', "$when: iforest_check finds nothing wrong on any shard");
}

make_spans($front, $n, 8);
answers_are_right('made', 1);

# ---- indexes ----

my $writer = "$ENV{TESTDIR}/writer.sql";
append_to_file($writer, "INSERT INTO spans SELECT * FROM (" . spans_between(0, 299, 300) . ") s(id, service, ts, dur, name);\n");
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-t', '15', '-f', $writer, $front->connstr('postgres') ], '<', '/dev/null', '>', "$writer.log", '2>&1');
$front->safe_psql('postgres', "CREATE INDEX CONCURRENTLY later_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur', variance = 'dur', background_merge = off)");
ok($load->finish, 'rows came while an index was made CONCURRENTLY');
is(on_shards($front, "SELECT count(*) FROM pg_index JOIN pg_class ON oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = '%s'::regclass AND amname = 'iforest' AND indisvalid", 2),
	8, 'each shard has both indexes, valid');
$front->safe_psql('postgres', 'INSERT INTO every SELECT s.* FROM generate_series(1, 30), (' . spans_between(0, 299, 300) . ') s(id, service, ts, dur, name)');
answers_are_right('an index made CONCURRENTLY', 2);
my $merged = $front->safe_psql('postgres', "SELECT bool_and(success) FROM run_command_on_shards('spans', \$\$SELECT count(iforest_merge(indexrelid)) FROM pg_index JOIN pg_class ON oid = indexrelid
	WHERE indrelid = '%s'::regclass AND relam = (SELECT oid FROM pg_am WHERE amname = 'iforest')\$\$)");
is($merged, 't', 'iforest_merge on all shards');
is($front->safe_psql('postgres', "SELECT sum(result::bigint) FROM run_command_on_shards('spans', \$\$SELECT sum(entries + pending_entries) FROM pg_index JOIN pg_class ON oid = indexrelid, iforest_stats(indexrelid)
	WHERE indrelid = '%s'::regclass AND relname LIKE 'spans_if%%'\$\$)"), $n + 9000, 'iforest_stats of all shards add up to the rows');

# ---- workers and shards ----

push @workers, start_worker($front, 'worker_3', 'enable_seqscan = off', 'citus.defer_drop_after_shard_move = off');
is($front->safe_psql('postgres', "SELECT count(*) FROM citus_shards WHERE table_name::text = 'spans' AND nodeport = " . $workers[2]->port), 0, 'a new worker has no shards');
$front->safe_psql('postgres', "SELECT rebalance_table_shards('spans', shard_transfer_mode => 'block_writes')");
cmp_ok($front->safe_psql('postgres', "SELECT count(*) FROM citus_shards WHERE table_name::text = 'spans' AND nodeport = " . $workers[2]->port), '>', 1, 'and has some after rebalancing');
answers_are_right('rebalanced', 2);
my ($shard, $from_host, $from_port) = split /\|/, $front->safe_psql('postgres', "SELECT shardid, nodename, nodeport FROM citus_shards WHERE table_name::text = 'spans' AND nodeport = " . $workers[0]->port . ' ORDER BY 1 LIMIT 1');
$front->safe_psql('postgres', sprintf("SELECT citus_move_shard_placement(%s, '%s', %s, '%s', %s, 'force_logical')", $shard, $from_host, $from_port, $workers[1]->host, $workers[1]->port));
answers_are_right('a shard moved while it may be written', 2);

# ---- a worker killed ----

sub kill_worker
{
	my ($worker) = @_;
	$worker->kill9;
	sleep 1;
	# its sessions have to notice that it is gone before another one can start
	for (1 .. 60)
	{
		return if $worker->start(fail_ok => 1);
		undef $worker->{_pid};
		sleep 1;
	}
	die 'the worker does not start again';
}

my $expected = $front->safe_psql('postgres', $questions[0]);
my $asking = start_script($front, 'asking', "$questions[0];\n" x 40000);
my $n_lines = wait_for_lines($asking, 10);
kill_worker($workers[1]);
wait_for_lines($asking, $n_lines + 10);
my ($seen, $errors) = stop_script($asking);
cmp_ok(scalar(grep { $_ eq $expected } @$seen), '>=', 20, 'questions were answered while a worker was killed and started again');
is(join(', ', grep { $_ ne $expected } @$seen), '', 'and no answer was wrong');
isnt($errors, '', 'some questions failed');
answers_are_right('a worker killed during questions', 2);

# each transaction writes 240 rows to all shards, under a name of its own, and says so afterwards
my $loading = start_script($front, 'loading', join('', map { "INSERT INTO spans SELECT id, service, ts, dur, 'load ' || :session || ' $_' FROM (" . spans_between(0, 239, 240) . ") s(id, service, ts, dur, name);\n"
	  . "\\if :ERROR\n\\else\n\\echo load :session $_\n\\endif\n" } 1 .. 20000));
$n_lines = wait_for_lines($loading, 10);
kill_worker($workers[0]);
wait_for_lines($loading, $n_lines + 10);
(my $loaded, $errors) = stop_script($loading);
isnt($errors, '', 'some loads failed when a worker was killed');
$front->safe_psql('postgres', 'SELECT recover_prepared_transactions()');
my %rows = map { split /\|/ } split /\n/, $front->safe_psql('postgres', "SELECT name, count(*) FROM spans WHERE name LIKE 'load %' GROUP BY 1");
cmp_ok(scalar(@$loaded), '>=', 20, 'rows were loaded before and after');
is(scalar(grep { ($rows{$_} // 0) != 240 } @$loaded), 0, 'nothing that was reported as loaded is lost');
is(scalar(grep { $_ != 240 } values %rows), 0, 'no transaction is there in part');
$front->safe_psql('postgres', "INSERT INTO every SELECT * FROM spans WHERE name LIKE 'load %'");
answers_are_right('a worker killed during a load', 2);

# ---- replicas of shards ----

$front->safe_psql('postgres', "SET citus.shard_replication_factor = 2; CREATE TABLE twice($Fleet::columns); SELECT create_distributed_table('twice', 'service', shard_count => 4)");
$front->safe_psql('postgres', "CREATE INDEX twice_if ON twice USING iforest (service, ts) INCLUDE (dur) WITH ($Fleet::options)");
$front->safe_psql('postgres', 'INSERT INTO twice SELECT * FROM every');
$workers[0]->stop('immediate');
is($front->safe_psql('postgres', $_ =~ s/\bspans\b/twice/r), $front->safe_psql('postgres', $_ =~ s/\bspans\b/every/r), "two copies of each shard, one worker gone: $_") for @questions;
$workers[0]->start;

# ---- partitions ----

$front->safe_psql('postgres', "CREATE TABLE days($Fleet::columns) PARTITION BY RANGE (ts)");
$front->safe_psql('postgres', "SELECT create_distributed_table('days', 'service', shard_count => 4)");
$front->safe_psql('postgres', "CREATE TABLE days_$_ PARTITION OF days FOR VALUES FROM ('2024-03-0$_ 00:00 UTC') TO ('2024-03-0" . ($_ + 1) . " 00:00 UTC')") for 1 .. 4;
$front->safe_psql('postgres', "CREATE INDEX days_if ON days USING iforest (service, ts) INCLUDE (dur) WITH ($Fleet::options)");
$front->safe_psql('postgres', 'INSERT INTO days SELECT * FROM every');
$front->safe_psql('postgres', 'VACUUM ANALYZE days');
for my $left (4, 3)
{
	for my $question (@questions)
	{
		(my $of_days = $question) =~ s/\bspans\b/days/g;
		(my $of_every = $question) =~ s/FROM spans/FROM every WHERE ts >= '2024-03-0@{[5 - $left]} 00:00 UTC'/;
		# a ctid does not tell rows of several partitions apart
		s/, iforest_last\(dur, ts, ctid\)// for $of_days, $of_every;
		is($front->safe_psql('postgres', $of_days), $front->safe_psql('postgres', $of_every), "$left partitions: $question");
	}
	my @tasks = split /->  Task\n/, $front->safe_psql('postgres', 'EXPLAIN (COSTS OFF) SELECT count(*), sum(dur) FROM days');
	is(scalar(grep { /Custom Scan \(IForestAggregate\)/ } @tasks), 4, "$left partitions: each shard answers from its indexes");
	if ($left == 4)
	{
		$front->safe_psql('postgres', 'ALTER TABLE days DETACH PARTITION days_1');
		$front->safe_psql('postgres', 'DROP TABLE days_1');
		my @gone = map { $_->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname LIKE 'days_1%'") } $front, @workers;
		is(join(' ', @gone), '0 0 0 0', 'a detached and dropped partition is gone everywhere, with its index');
	}
}
stop_fleet($front, @workers);

# ---- a fleet of an earlier version, updated node by node: the coordinator last, as it sends what workers must know ----

($Fleet::version, $Fleet::prefix) = ("VERSION '1.1'", 'old_');
($front, @workers) = start_fleet(2, 'enable_seqscan = off');
make_spans($front, $n, 8);
answers_are_right('version 1.1', 1);
for my $node (@workers, $front)
{
	$node->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; ALTER EXTENSION iforest UPDATE');
	answers_are_right('updated ' . $node->name, 1);
}
stop_fleet($front, @workers);
done_testing();
