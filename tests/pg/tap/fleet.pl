# A fleet: spans sharded over several servers, asked through one. With postgres_fdw always, with Citus where it is installed. What is
# sent to a shard is answered from the index there, and the answer is that of all the rows in one table.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map { PostgreSQL::Test::Cluster->new("shard_$_") } 1 .. 3;
my $columns = 'id integer, service text, ts timestamptz, dur bigint';

sub rows_of
{
	my ($condition) = @_;
	return "SELECT i, 'service ' || i % 6, to_timestamp(i * 7919::bigint % 10000), i % 1000 FROM generate_series(1, 20000) i WHERE $condition";
}

sub with_index
{
	my ($node, $table) = @_;
	$node->safe_psql('postgres', "CREATE EXTENSION IF NOT EXISTS iforest; CREATE TABLE $table($columns)");
	$node->safe_psql('postgres', "CREATE INDEX ON $table USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur', background_merge = off)");
}

# The queries that EXPLAIN says are sent to servers.
sub sent
{
	my ($node, $query) = @_;
	my $plan = $node->safe_psql('postgres', "SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS OFF) $query");
	return $plan =~ /Remote SQL: (.*)/g;
}

SKIP:
{
	skip 'no extension postgres_fdw', 1
	  unless -e $shards[0]->config_data('--pkglibdir') . '/postgres_fdw.so';
	my $front = PostgreSQL::Test::Cluster->new('front');
	for my $node ($front, @shards)
	{
		$node->init;
		# the server that is asked has no index, which would load the library
		my $library = slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/ ? '$libdir/iforest' : 'iforest';
		$node->append_conf('postgresql.conf', "autovacuum = off\nsession_preload_libraries = '$library'");
		$node->start;
	}
	# services 2 n and 2 n + 1 live on shard n
	$front->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE TABLE spans($columns) PARTITION BY LIST (service); CREATE TABLE every($columns)");
	$front->safe_psql('postgres', 'INSERT INTO every ' . rows_of('true'));
	for my $s (0 .. 2)
	{
		my ($host, $port) = ($shards[$s]->host, $shards[$s]->port);
		my ($even, $odd) = (2 * $s, 2 * $s + 1);
		with_index($shards[$s], 'spans');
		$shards[$s]->safe_psql('postgres', 'INSERT INTO spans ' . rows_of("i % 6 / 2 = $s"));
		$shards[$s]->safe_psql('postgres', 'VACUUM ANALYZE spans');
		$front->safe_psql('postgres', "CREATE SERVER shard_$s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', use_remote_estimate 'true');
			CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$s;
			CREATE FOREIGN TABLE spans_$s PARTITION OF spans FOR VALUES IN ('service $even', 'service $odd') SERVER shard_$s OPTIONS (table_name 'spans')");
	}
	my $bin = "date_bin('10 minutes', ts, '2000-01-01 00:00 UTC'::timestamptz)";
	my @pushed = (
		"SELECT service, $bin AS bin, count(*), sum(dur), min(dur), max(dur), avg(dur) FROM spans GROUP BY 1, 2",
		"SELECT service, $bin AS bin, sum(dur) FROM spans WHERE ts >= to_timestamp(2000) AND ts < '1970-01-01 02:00 UTC' GROUP BY 1, 2 HAVING count(*) > 2",
		"SELECT service, count(*), max(dur) FROM spans WHERE ts < '1970-01-01 01:00 UTC' GROUP BY 1",
		"SELECT service, $bin AS bin, count(*), max(dur) FROM spans WHERE service = 'service 3' GROUP BY 1, 2");
	for my $query (@pushed)
	{
		my @sent = sent($front, $query);
		ok(@sent > 0, "sent: $query");
		for my $sql (@sent)
		{
			my ($service) = $sql =~ /service = 'service (\d)'/;
			my $plan = $shards[defined $service ? $service / 2 : 0]->safe_psql('postgres', "EXPLAIN (COSTS OFF) $sql");
			like($plan, qr/Custom Scan \(IForestAggregate\)/, "answered from the index: $sql");
		}
	}
	my ($top) = sent($front, 'SELECT service, dur FROM spans_1 WHERE dur IS NOT NULL ORDER BY dur DESC LIMIT 3');
	like($shards[1]->safe_psql('postgres', "EXPLAIN $top"), qr/Custom Scan \(IForestTopK\)/, "best first: $top");
	# tests/pg/tap/fleet_rows.pl has more of these
	my $first = 'SELECT id, service, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10';
	my @firsts = sent($front, $first);
	is(scalar(grep { / LIMIT 10/ } @firsts), 3, 'each shard is asked for its first rows');
	like($shards[$_]->safe_psql('postgres', "EXPLAIN $firsts[$_]"), qr/Custom Scan \(IForestTopK\)/, "best first: $firsts[$_]") for 0 .. 2;
	is($front->safe_psql('postgres', $first), $front->safe_psql('postgres', $first =~ s/spans/every/r), "the same: $first");
	# what cannot be sent as it is: date_trunc() of a timestamptz hangs on the session's time zone; groups that several shards have
	my @combined = (
		"SELECT date_trunc('hour', ts) AS hour, count(*), sum(dur) FROM spans GROUP BY 1",
		"SELECT $bin AS bin, sum(n) AS n, sum(total) AS total, max(longest) AS longest FROM
			(SELECT service, $bin AS ts, count(*) AS n, sum(dur) AS total, max(dur) AS longest FROM spans GROUP BY 1, 2) s GROUP BY 1");
	like(join(' ', sent($front, $combined[1])), qr/GROUP BY/, 'groups of several shards: added up from what each has by service');
	for my $query (@pushed, @combined)
	{
		(my $of_every = $query) =~ s/FROM spans/FROM every/;
		my $settings = 'SET enable_partitionwise_aggregate = on; SET iforest.enable = on;';
		is($front->safe_psql('postgres', "$settings SELECT q::text FROM ($query) q ORDER BY 1"),
			$front->safe_psql('postgres', "SELECT q::text FROM ($of_every) q ORDER BY 1"), "the same: $query");
	}
	# foreign partitions have no index here: the function of overlaps reads the tables, and says so of a call by hand
	$front->safe_psql('postgres', "CREATE EXTENSION iforest; CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur', duration_unit = 'us');
		CREATE INDEX every_if ON every USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur'); SELECT iforest_create_functions(i) FROM unnest('{spans_if, every_if}'::regclass[]) i");
	my ($of_spans, $of_every) = map { $front->safe_psql('postgres', "SELECT service, bucket, count, clipped_dur, longest_dur, longest_dur_ts
		FROM ${_}_if_overlap('1970-01-01 00:30 UTC', '1970-01-01 02:00 UTC', 7, fill => 'zero') ORDER BY 1, 2") } 'spans', 'every';
	is($of_spans, $of_every, 'overlaps of foreign partitions');
	my (undef, undef, $error) = $front->psql('postgres', "SELECT * FROM iforest_overlap_spans('spans_if'::regclass, 1) AS o(a integer)");
	like($error, qr/table "spans" has foreign tables as partitions, which have no index/, 'they are refused as an index');
	# the extension's own aggregates are sent to servers that are said to have it
	$front->safe_psql('postgres', "ALTER SERVER shard_$_ OPTIONS (ADD extensions 'iforest')") for 0 .. 2;
	for my $query ("SELECT service, iforest_sketch(dur), iforest_distinct_count(iforest_distinct(dur)) FROM spans GROUP BY 1",
		"SELECT service, iforest_first(dur, ts) FROM spans GROUP BY 1", "SELECT service, iforest_last_time(dur, ts, ctid) FROM spans GROUP BY 1")
	{
		like(join(' ', sent($front, $query)), qr/GROUP BY/, "sent: $query");
		(my $of_every = $query) =~ s/FROM spans/FROM every/;
		is($front->safe_psql('postgres', "SET enable_partitionwise_aggregate = on; SELECT q::text FROM ($query) q ORDER BY 1"),
			$front->safe_psql('postgres', "SELECT q::text FROM ($of_every) q ORDER BY 1"), "the same: $query");
	}
	# groups that several shards have are combined here
	my @all = (
		'SELECT count(*), sum(dur), avg(dur), min(dur), max(dur), stddev(dur), min(ts), bool_or(dur > 990) FROM spans',
		"SELECT $bin AS bin, count(*), avg(dur) + 1 AS a, count(*) FILTER (WHERE dur > 500) AS n FROM spans GROUP BY 1 HAVING max(dur) > 10 ORDER BY 1 LIMIT 5",
		'SELECT sum(dur), iforest_last_time(dur, ts, ctid), iforest_first(dur, ts) FROM spans WHERE ts < to_timestamp(5000)',
		'SELECT count(*), sum(dur), avg(dur) FROM spans WHERE dur < 0',
		"SELECT $bin AS bin, n, n - lag(n) OVER (ORDER BY bin) AS more FROM (SELECT $bin AS bin, count(*) AS n FROM spans GROUP BY 1) s, LATERAL (SELECT to_timestamp(0) AS ts) o",
		"SELECT a.k, a.n, b.n AS m FROM (SELECT $bin AS k, count(*) AS n FROM spans GROUP BY 1) a JOIN (SELECT $bin AS k, count(*) AS n FROM spans WHERE dur > 5 GROUP BY 1) b USING (k)");
	for my $query (@all)
	{
		(my $of_every = $query) =~ s/FROM spans/FROM every/g;
		my $plan = $front->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $query");
		like($plan, qr/Custom Scan \(IForestCombine\)/, "combined: $query");
		unlike($plan, qr/Remote SQL: SELECT (?!.*\()/, "no rows are sent: $query");
		is($front->safe_psql('postgres', "SELECT q::text FROM ($query) q ORDER BY 1"), $front->safe_psql('postgres', "SELECT q::text FROM ($of_every) q ORDER BY 1"), "the same: $query");
	}
	is($front->safe_psql('postgres', 'SELECT generate_series(1, 2) AS part, count(*), sum(dur) > 0 FROM spans WHERE dur > 10 GROUP BY 1 ORDER BY 1'), "1|19780|t\n2|19780|t", 'groups by a set of values');
	my $beside = "SELECT count(*), (SELECT max(e.id) FROM every e WHERE e.id < s.m) AS n FROM (SELECT dur % 3 + 10 AS m FROM spans) s GROUP BY s.m ORDER BY 1, 2";
	is($front->safe_psql('postgres', $beside), $front->safe_psql('postgres', $beside =~ s/FROM spans/FROM every/r), 'a column that is needed beside the groups it makes');
	unlike($front->safe_psql('postgres', "SET iforest.enable = off; EXPLAIN $all[0]"), qr/IForestCombine/, 'rows are sent without this extension');
	# a generic plan is made anew when a partition comes or goes; partitions that a condition excludes are not asked
	my $prepared = "PREPARE p(integer) AS SELECT count(*), sum(dur) FROM spans WHERE id > \$1; SET plan_cache_mode = force_generic_plan; EXECUTE p(0)";
	is($front->safe_psql('postgres', "$prepared; BEGIN; ALTER TABLE spans DETACH PARTITION spans_2; EXECUTE p(0); ROLLBACK; EXECUTE p(19999)"),
		$front->safe_psql('postgres', "SELECT count(*), sum(dur) FROM every; SELECT count(*), sum(dur) FROM every WHERE service < 'service 4'; SELECT count(*), sum(dur) FROM every WHERE id > 19999"), 'partitions come and go');
	my @asked = sent($front, "SELECT count(*) FROM spans WHERE service IN ('service 1', 'service 2')");
	is(scalar @asked, 2, 'two of three shards are asked');
	# a server is asked for its estimates once each: of rows, of rows in order, of groups
	my $log = $shards[0]->logfile;
	$shards[0]->safe_psql('postgres', "ALTER DATABASE postgres SET log_statement = 'all'");
	my $begun = -s $log;
	$front->safe_psql('postgres', "EXPLAIN SELECT $bin, avg(dur) FROM spans WHERE dur > 5 GROUP BY 1");
	my @estimates = slurp_file($log, $begun) =~ /statement: EXPLAIN (.*)/g;
	is(scalar @estimates, 3, 'estimates that a server is asked for') or diag(join("\n", @estimates));
	# a local partition beside foreign ones
	$front->safe_psql('postgres', "CREATE TABLE spans_here PARTITION OF spans FOR VALUES IN ('here'); INSERT INTO spans SELECT id, 'here', ts, dur FROM every WHERE id < 100; INSERT INTO every SELECT id, 'here', ts, dur FROM every WHERE id < 100");
	is($front->safe_psql('postgres', $all[0]), $front->safe_psql('postgres', $all[0] =~ s/spans/every/r), 'a local partition beside foreign ones');
	# privileges are those on the table that is asked
	my $user = $front->safe_psql('postgres', 'CREATE ROLE stranger; SELECT current_user');
	$front->safe_psql('postgres', "CREATE USER MAPPING FOR stranger SERVER shard_$_ OPTIONS (user '$user', password_required 'false')") for 0 .. 2;
	(undef, undef, $error) = $front->psql('postgres', "SET ROLE stranger; $all[0]");
	like($error, qr/permission denied for table spans/, 'nothing is read without privileges');
	$_->stop for $front, @shards;
}

# Citus sends the same aggregates to the shards of a distributed table, each of which has its part of the index. One server is all of the
# cluster here, as Citus allows; it connects to itself.
SKIP:
{
	my $folder = $shards[0]->config_data('--pkglibdir');
	skip "no extension citus: there is no $folder/citus.so", 1 unless -e "$folder/citus.so";
	my $node = PostgreSQL::Test::Cluster->new('citus');
	$node->init(allows_streaming => 'logical');
	# shards may be small: seen is that they can answer from the index, not that it is cheaper
	$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'citus'", "listen_addresses = 'localhost'", 'max_connections = 100',
		"citus.node_conninfo = 'sslmode=prefer'", 'citus.shard_count = 4', 'citus.explain_all_tasks = on', 'autovacuum = off', 'enable_seqscan = off'));
	$node->start;
	# who is made known as the coordinator takes no shards unless it is told to
	my $port = $node->port;
	$node->safe_psql('postgres', "CREATE EXTENSION citus; SELECT citus_set_coordinator_host('localhost', $port); SELECT citus_set_node_property('localhost', $port, 'shouldhaveshards', true)");
	with_index($node, 'spans');
	$node->safe_psql('postgres', "SELECT create_distributed_table('spans', 'service')");
	$node->safe_psql('postgres', "CREATE INDEX later_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur', duration_unit = 'ms')");
	$node->safe_psql('postgres', 'INSERT INTO spans ' . rows_of('true'));
	$node->safe_psql('postgres', 'VACUUM ANALYZE spans');
	$node->safe_psql('postgres', "CREATE TABLE every($columns); INSERT INTO every " . rows_of('true'));
	my $on_shards = sub { $node->safe_psql('postgres', "SELECT count(*) FROM run_command_on_shards('spans', \$\$$_[0]\$\$) WHERE result = 't'") };
	is($on_shards->("SELECT count(*) = 2 FROM pg_class JOIN pg_am ON pg_am.oid = relam JOIN pg_index ON indexrelid = pg_class.oid
		WHERE indrelid = '%s'::regclass AND amname = 'iforest' AND reloptions && '{background_merge=off, duration_unit=ms}' AND reloptions @> '{duration=dur}'"),
		4, 'Citus: each shard has the indexes, made before and after the table was distributed, with their parameters');
	my $n_shards = $on_shards->('SELECT count(*) > 0 FROM %s');
	cmp_ok($n_shards, '>', 1, 'Citus: several shards have rows');
	my $bin = "date_bin('1 hour', ts, '2000-01-01 00:00 UTC'::timestamptz)";
	my ($t0, $t1) = map { "to_timestamp($_)" } 2000, 8000;
	my @questions = (
		[ $n_shards, 'SELECT service, count(*), sum(dur), min(dur), max(dur), avg(dur) FROM spans GROUP BY 1 ORDER BY 1' ],
		[ $n_shards, "SELECT service, $bin AS hour, count(*), avg(dur) FROM spans GROUP BY 1, 2 HAVING sum(dur) > 900000 ORDER BY 1, 2" ],
		[ $n_shards, "SELECT $bin AS hour, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1" ],
		[ $n_shards, "SELECT iforest_bucket(ts, $t0, $t1, 7) AS bucket, count(*), max(dur) FROM spans WHERE ts >= $t0 AND ts < $t1 GROUP BY 1 ORDER BY 1" ],
		[ 1, "SELECT count(*), max(dur) FROM spans WHERE service = 'service 3'" ]);
	for my $question (@questions)
	{
		my ($least, $query) = @$question;
		my @answered = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query") =~ /Custom Scan \(IForestAggregate\)/g;
		cmp_ok(scalar @answered, '>=', $least, "Citus: each shard that has rows asked for answers from the index: $query");
		(my $of_every = $query) =~ s/FROM spans/FROM every/;
		is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', $of_every), "Citus: the same: $query");
	}
	$node->stop;
}

done_testing();
