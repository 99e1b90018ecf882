# A fleet of Citus on one machine: a coordinator and workers on unix sockets, spans distributed over them, and the same spans in a plain table.
package Fleet;
use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use IPC::Run;
use POSIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;
our @EXPORT = qw(start_fleet start_worker make_spans spans_between on_shards set_everywhere same_answers start_script wait_for_lines stop_script processor_time stop_fleet);

# the extension's, as CREATE EXTENSION has it; and what the names of nodes begin with
our ($version, $prefix) = ('', '');

# Why there can be no fleet, or nothing.
sub missing
{
	my ($folder) = PostgreSQL::Test::Utils::run_command([ $ENV{PG_CONFIG} // 'pg_config', '--pkglibdir' ]);
	return -e "$folder/citus.so" ? undef : "Citus is not installed: there is no $folder/citus.so (tests/fleet/build_citus.sh)";
}

sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($prefix . $name);
	my $sockets = $node->host;
	my $library = slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/ ? '$libdir/iforest' : 'iforest';

	$node->init(allows_streaming => 'logical');
	# workers ask for the aggregates of shards in sessions of their own, which have to know the library from the first query on
	$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'citus'", "session_preload_libraries = '$library'", 'max_connections = 200',
		'max_prepared_transactions = 100', 'max_worker_processes = 32', 'max_wal_senders = 20', 'max_replication_slots = 20', 'autovacuum = off', "citus.local_hostname = '$sockets'",
		"citus.node_conninfo = 'sslmode=prefer'", 'citus.explain_all_tasks = on', 'citus.enable_statistics_collection = off', 'restart_after_crash = on', 'log_statement = none', @settings));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	$node->safe_psql('postgres', "CREATE EXTENSION iforest $version");
	return $node;
}

# A worker that the coordinator knows from then on.
sub start_worker
{
	my ($front, $name, @settings) = @_;
	my $node = start_node($name, @settings);

	$front->safe_psql('postgres', "SELECT citus_add_node('" . $node->host . "', " . $node->port . ')');
	return $node;
}

# Returns the coordinator and the workers. The settings are of all of them.
sub start_fleet
{
	my ($n_workers, @settings) = @_;
	my $front = start_node('coordinator', @settings);

	$front->safe_psql('postgres', "SELECT citus_set_coordinator_host('" . $front->host . "', " . $front->port . ')');
	return ($front, map { start_worker($front, "worker_$_", @settings) } 1 .. $n_workers);
}

# A query for spans of 24 services over four days; every fiftieth has no duration.
sub spans_between
{
	my ($first, $last, $n) = @_;
	return "SELECT i, 'service ' || i % 24, '2024-03-01 00:00 UTC'::timestamptz + (i * 345600000 / $n) * interval '1 millisecond',
		CASE WHEN i % 50 > 0 THEN (hashint8(i) & 131071)::bigint END, 'span ' || i % 7 FROM generate_series(${first}::bigint, $last) i";
}

our $columns = 'id bigint, service text, ts timestamptz, dur bigint, name text';
our $options = "duration = 'dur', variance = 'dur', sketch = 'dur', distinct = 'dur', histogram = 'dur(1000, 100000)', background_merge = off";

# Makes the distributed table spans with its index and its B-trees, and the plain table every, both with n rows.
sub make_spans
{
	my ($front, $n, $n_shards) = @_;

	$front->safe_psql('postgres', "CREATE TABLE every($columns); INSERT INTO every " . spans_between(0, $n - 1, $n));
	$front->safe_psql('postgres', "CREATE TABLE spans($columns)");
	$front->safe_psql('postgres', "SELECT create_distributed_table('spans', 'service', shard_count => $n_shards)");
	$front->safe_psql('postgres', 'INSERT INTO spans SELECT * FROM every');
	$front->safe_psql('postgres', "CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur) WITH ($options)");
	$front->safe_psql('postgres', 'CREATE INDEX ON spans (service, ts) INCLUDE (dur)');
	$front->safe_psql('postgres', 'CREATE INDEX ON spans (ts) INCLUDE (service, dur)');
	$front->safe_psql('postgres', 'VACUUM ANALYZE spans');
	$front->safe_psql('postgres', 'VACUUM ANALYZE every');
}

# On how many shards of spans the query, with %s for the shard, gives this.
sub on_shards
{
	my ($front, $query, $result) = @_;
	return $front->safe_psql('postgres', "SELECT count(*) FROM run_command_on_shards('spans', \$\$$query\$\$) WHERE success AND result = '$result'");
}

# Sets a parameter on all nodes, for sessions that are open, too.
sub set_everywhere
{
	my ($setting, @nodes) = @_;
	for my $node (@nodes)
	{
		$node->safe_psql('postgres', "ALTER SYSTEM SET $setting");
		$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	}
	# a reload is a signal, which sessions see before their next statement
	for my $node (@nodes)
	{
		my ($name, $value) = $setting =~ /(\S+) = (\S+)/;
		$node->poll_query_until('postgres', "SELECT current_setting('$name') = '$value'") or die "$setting is not set";
	}
}

sub same_answers
{
	my ($front, $query, $title) = @_;
	(my $of_every = $query) =~ s/\bspans\b/every/g;
	is($front->safe_psql('postgres', $query), $front->safe_psql('postgres', $of_every), $title);
}

# Starts a client that runs statements, and goes on after errors. If it loses its session, it begins again in another one: Citus may end a session when a
# worker is killed. Each has another number in :session.
sub start_script
{
	my ($front, $name, $statements) = @_;
	my $file = "$ENV{TESTDIR}/$name";
	open my $script, '>', "$file.sql" or die "$file.sql: $!";
	print $script $statements;
	close $script or die "$file.sql: $!";
	# a client that is stopped has not lost the end of its output; psql ends with 2 when its session is lost
	my $sessions = 'trap "kill \$!; exit" TERM; code=2; session=0
		while [ $code -eq 2 ]; do
			session=$((session + 1)); stdbuf -oL psql -X -q -A -t -v session=$session -f "$0" "$1" & wait $!; code=$?
			[ $code -ne 2 ] || sleep 0.2
		done';
	return { file => $file, run => IPC::Run::start([ 'sh', '-c', $sessions, "$file.sql", $front->connstr('postgres') ], '<', '/dev/null', '>', "$file.out", '2>', "$file.errors") };
}

# Waits until it has printed so many lines. Returns how many these are now.
sub wait_for_lines
{
	my ($client, $n) = @_;
	for (1 .. 3000)
	{
		my $lines = () = slurp_file("$client->{file}.out") =~ /\n/g;
		return $lines if $lines >= $n;
		Time::HiRes::sleep(0.1);
	}
	die "$client->{file}: less than $n lines";
}

# Stops it, if it has not ended. Returns the lines of its output, and what went wrong.
sub stop_script
{
	my ($client) = @_;
	$client->{run}->kill_kill(grace => 5);
	return ([ split /\n/, slurp_file("$client->{file}.out") ], slurp_file("$client->{file}.errors"));
}

# Returns the processor time in milliseconds that servers' sessions and other processes have taken so far, those that have ended among them.
sub processor_time
{
	my %is_asked = map { $_->{_pid} => 1 } @_;
	my $ticks = 0;
	for my $file (glob '/proc/[0-9]*/stat')
	{
		# a process may end meanwhile
		open my $process, '<', $file or next;
		my ($pid, $fields) = (<$process> // '') =~ /^(\d+) \(.*\) (.*)/ or next;
		my (undef, $parent, @rest) = split ' ', $fields;
		# of those that have ended a postmaster knows the sum
		$ticks += $rest[9] + $rest[10] if $is_asked{$parent};
		$ticks += $rest[11] + $rest[12] if $is_asked{$pid};
	}
	return $ticks * 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK);
}

sub stop_fleet
{
	$_->stop('fast') for reverse @_;
}

1;
