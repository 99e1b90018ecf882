# Load on a fleet: rows loaded through the coordinator, dashboards that clients ask while more come, a worker that crashes and starts again
# under them. Afterwards the answers from the indexes are those of plain plans, and no row is lost.
#
# With IFOREST_ROWS set it prints rates and times. IFOREST_WORKERS (4), IFOREST_SHARDS (16), IFOREST_CLIENTS (8) and IFOREST_SECONDS (of each part) make
# another one. Covering B-trees are built beside the index to be measured; IFOREST_BTREES=0 leaves them out, and plain plans are slow then.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use List::Util qw(min sum);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => Fleet::missing() if Fleet::missing();

# a worker with many rows takes a while to start after a crash
$ENV{PGCTLTIMEOUT} //= 600;

my $is_measured = exists $ENV{IFOREST_ROWS};
my $n = $ENV{IFOREST_ROWS} // 48000;
my ($n_workers, $n_shards, $n_clients) = ($ENV{IFOREST_WORKERS} // 4, $ENV{IFOREST_SHARDS} // 16, $ENV{IFOREST_CLIENTS} // 8);
my ($seconds, $n_services, $n_arriving) = ($ENV{IFOREST_SECONDS} // 4, $is_measured ? 240 : 48, 1200);
my $has_btrees = $is_measured && ($ENV{IFOREST_BTREES} // 1);
my @settings = $is_measured ? ('shared_buffers = 1GB', 'max_wal_size = 3GB', 'maintenance_work_mem = 256MB', 'autovacuum = on', 'citus.max_cached_conns_per_worker = 16') : ();
my ($front, @workers) = start_fleet($n_workers, 'checkpoint_timeout = 30min', @settings);

# Spans of the services in turn over four days, the i-th of n from the first of March on.
sub spans_of
{
	my ($first, $last, $name) = @_;
	return "SELECT i, 'service ' || i % $n_services, '2024-03-01 00:00 UTC'::timestamptz + (i * (345600000000 / $n)) * interval '1 microsecond', (hashint8(i) & 131071)::bigint, $name
		FROM generate_series(${first}::bigint, $last) i";
}

# What the panels of dashboards ask: of all times, of the last day, of the last hour.
my $end = "'2024-03-05 00:00 UTC'::timestamptz";
my ($hour, $minute) = map { "date_bin('1 $_', ts, '2000-01-01 00:00 UTC'::timestamptz)" } 'hour', 'minute';
my @panels = (
	[ 'whole table' => 'SELECT count(*), sum(dur), max(dur) FROM spans' ],
	[ 'by service' => 'SELECT service, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ 'by hour' => "SELECT $hour, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1" ],
	[ 'by minute, a day' => "SELECT $minute, count(*), max(dur) FROM spans WHERE ts >= $end - interval '1 day' AND ts < $end GROUP BY 1 ORDER BY 1" ],
	[ 'a window of 4 hours' => "SELECT count(*), sum(dur), max(dur) FROM spans WHERE ts >= $end - interval '30 hours' AND ts < $end - interval '26 hours'" ],
	[ 'one service by hour' => "SELECT $hour, count(*), sum(dur) FROM spans WHERE service = 'service 5' GROUP BY 1 ORDER BY 1" ],
	[ 'stddev by service, a day' => "SELECT service, stddev(dur) FROM spans WHERE ts >= $end - interval '1 day' GROUP BY 1 ORDER BY 1" ],
	[ 'p99 of a service by hour' => "SELECT $hour, iforest_quantile(iforest_sketch(dur), 0.99) FROM spans WHERE service = 'service 5' GROUP BY 1 ORDER BY 1" ],
	[ 'the last row of a service' => "SELECT service, ts, dur FROM spans WHERE service = 'service 7' ORDER BY ts DESC LIMIT 1" ]);

sub say_measured
{
	diag sprintf shift, @_ if $is_measured;
}

sub elapsed(&)
{
	my ($work) = @_;
	my $began = time;

	$work->();
	return time - $began;
}

# ---- loading ----

$front->safe_psql('postgres', "CREATE TABLE spans($Fleet::columns)");
$front->safe_psql('postgres', "SELECT create_distributed_table('spans', 'service', shard_count => $n_shards)");
$front->safe_psql('postgres', "CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur', variance = 'dur', sketch = 'dur')");
$front->safe_psql('postgres', "CREATE INDEX spans_t_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')");

# in transactions of at most half a million rows, two at a time
my $at_once = min(500000, $n / 4);
my @parts = map { [ $_ * $at_once, min(($_ + 1) * $at_once, $n) - 1 ] } 0 .. ($n - 1) / $at_once;
my $loading = elapsed
{
	my @loads = map { my $odd = $_; start_script($front, "load_$odd", join('', map { "INSERT INTO spans " . spans_of(@{ $parts[$_] }, "'span ' || i % 7") . ";\n" } grep { $_ % 2 == $odd } 0 .. $#parts)) } 0, 1;
	$_->{run}->finish for @loads;
	is((stop_script($_))[1], '', 'rows were loaded') for @loads;
};
my $vacuum = elapsed { $front->safe_psql('postgres', 'VACUUM ANALYZE spans') };
is($front->safe_psql('postgres', 'SELECT count(*), sum(id) FROM spans'), "$n|" . $n * ($n - 1) / 2, 'all rows are there');
say_measured('%d spans, %d services, %d workers, %d shards: loaded with both indexes in %.0f s, %.0f rows/s; VACUUM ANALYZE %.0f s', $n, $n_services, $n_workers, $n_shards, $loading, $n / $loading, $vacuum);
if ($has_btrees)
{
	my $building = elapsed { $front->safe_psql('postgres', 'CREATE INDEX btree_st ON spans (service, ts) INCLUDE (dur); CREATE INDEX btree_t ON spans (ts) INCLUDE (service, dur)') };
	say_measured('covering B-trees built in %.0f s', $building);
}
say_measured('%s: %s', split /\|/, $_) for split /\n/, $front->safe_psql('postgres', "SELECT 'bytes of ' || what, pg_size_pretty(sum(size)) FROM (SELECT regexp_replace(key, '_\\d+\$', '') AS what, value::bigint AS size
	FROM run_command_on_shards('spans', \$\$SELECT json_object_agg(relname, pg_relation_size(oid)) FROM pg_class WHERE oid = '%1\$s'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = '%1\$s'::regclass)\$\$),
	json_each_text(result::json)) s GROUP BY what ORDER BY what");

# ---- answers and times of one client ----

# Asks each panel, from the indexes and by plain plans.
sub answers_are_equal
{
	my ($when) = @_;
	my (%answers, %times);

	for my $enable ('on', 'off')
	{
		set_everywhere("iforest.enable = $enable", $front, @workers);
		for my $panel (@panels)
		{
			my $runs = !$is_measured ? 1 : $enable eq 'on' ? 5 : 1;
			my $output = $front->safe_psql('postgres', "$panel->[1];\n" . "\\timing on\n\\o /dev/null\n" . "$panel->[1];\n" x $runs);
			my @times = sort { $a <=> $b } $output =~ /^Time: ([\d.]+) ms/mg;
			$answers{$enable}{ $panel->[0] } = $output =~ s/^(?:Time: |Timing is on).*\n?//mgr;
			$times{$enable}{ $panel->[0] } = $times[ @times / 2 ];
		}
	}
	set_everywhere('iforest.enable = on', $front, @workers);
	is($answers{on}{ $_->[0] }, $answers{off}{ $_->[0] }, "$when: $_->[0]") for @panels;
	say_measured('%-28s %10s %10s ms, one client', $when, 'iforest', 'plain');
	say_measured('%-28s %10.1f %10.1f', $_->[0], $times{on}{ $_->[0] }, $times{off}{ $_->[0] }) for @panels;
}
answers_are_equal('loaded');

# ---- clients beside a load ----

# A client's endless round of panels, begun somewhere else than others'. Each statement's time comes before its name and whether it failed.
sub start_dashboard
{
	my ($i) = @_;
	my $round = join '', map { my $panel = $panels[ ($_ + $i) % @panels ]; "\\o /dev/null\n" . $panel->[1] =~ s/\n\s*/ /gr . ";\n\\o\n\\echo panel $panel->[0]: :ERROR\n" } 0 .. $#panels;
	return start_script($front, "dashboard_$i", "\\timing on\n" . $round x ($seconds * 1000));
}

# Rows that come after the loaded ones, in transactions under names of their own, which it tells when they are there.
my $arrived = 0;
sub start_arriving
{
	my $n_transactions = $seconds * 100;
	my $first = $arrived;
	$arrived += $n_transactions;
	return start_script($front, 'arriving', join '', map { 'INSERT INTO spans ' . spans_of($n + $_ * $n_arriving, $n + ($_ + 1) * $n_arriving - 1, "'arrived ' || :session || ' $_'") . ";\n\\if :ERROR\n\\else\n\\echo arrived :session $_\n\\endif\nSELECT pg_sleep(0.1) \\g /dev/null\n" }
		$first .. $arrived - 1);
}

my @reported;

# Has clients ask while rows come, and does something in the middle of it. Prints how long panels took; returns how many were answered, and how many failed.
sub ask_beside_load
{
	my ($title, $disturb) = @_;
	my @clients = map { start_dashboard($_) } 1 .. $n_clients;
	my $writer = start_arriving();
	my $took = elapsed
	{
		sleep($seconds / 2);
		my $n_before = wait_for_lines($writer, 1);
		$disturb->() if $disturb;
		sleep($seconds / 2);
		wait_for_lines($writer, $n_before + 1);
		wait_for_lines($_, 2) for @clients;
	};
	my ($told) = stop_script($writer);
	my (%times, $n_failed);

	push @reported, @$told;
	$n_failed = 0;
	for my $client (@clients)
	{
		my $milliseconds;
		my ($lines) = stop_script($client);
		for my $line (@$lines)
		{
			$milliseconds = $1 if $line =~ /^Time: ([\d.]+) ms/;
			next unless $line =~ /^panel (.*): (\w+)$/;
			$2 eq 'true' ? $n_failed++ : push @{ $times{$1} }, $milliseconds;
		}
	}
	my @all = sort { $a <=> $b } map { @$_ } values %times;
	say_measured('%s: %d clients, %.0f s: %.1f answers/s, %.0f rows/s arrive, %d failed', $title, $n_clients, $took, @all / $took, @$told * $n_arriving / $took, $n_failed);
	say_measured('%-28s %8s %10s %10s %10s', '', 'answers', 'p50 ms', 'p99 ms', 'max ms');
	for my $name (map({ $_->[0] } @panels), 'all')
	{
		my @sorted = $name eq 'all' ? @all : sort { $a <=> $b } @{ $times{$name} // [] };
		say_measured('%-28s %8d %10.1f %10.1f %10.1f', $name, scalar @sorted, @sorted ? map { $sorted[ min($#sorted, $_ * @sorted) ] } 0.5, 0.99, 1 : (0, 0, 0));
	}
	return (scalar @all, $n_failed);
}

my ($n_answered, $n_failed) = ask_beside_load('rows arrive, iforest');
cmp_ok($n_answered, '>', 0, 'clients are answered while rows arrive');
is($n_failed, 0, 'and no question fails');
if ($is_measured)
{
	set_everywhere('iforest.enable = off', $front, @workers);
	ask_beside_load('rows arrive, plain plans');
	set_everywhere('iforest.enable = on', $front, @workers);
}
my $down = 0;
($n_answered, $n_failed) = ask_beside_load('a worker crashes', sub {
	$down = elapsed
	{
		$workers[1]->stop('immediate');
		sleep(1);
		$workers[1]->start;
	};
});
say_measured('the worker was away for %.1f s', $down);
cmp_ok($n_answered, '>', 0, 'clients are answered before and after a crash');
cmp_ok($n_failed, '>', 0, 'and fail in it');

# ---- nothing is lost ----

# the session of a client that was stopped may still be about to commit
$front->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'") or die 'sessions of clients do not end';
$front->safe_psql('postgres', 'SELECT recover_prepared_transactions()');
my %rows = map { split /\|/ } split /\n/, $front->safe_psql('postgres', "SELECT name, count(*) FROM spans WHERE ts >= $end GROUP BY 1");
cmp_ok(scalar @reported, '>', 0, 'rows arrived');
is(scalar(grep { ($rows{$_} // 0) != $n_arriving } @reported), 0, 'nothing that was reported is lost');
is(scalar(grep { $_ != $n_arriving } values %rows), 0, 'no transaction is there in part');
is($front->safe_psql('postgres', 'SELECT count(*) FROM spans'), $n + sum(values %rows), 'no row is there twice or too few times');
answers_are_equal('after the crash');
my $checking = elapsed
{
	is(on_shards($front, "SELECT count(iforest_check(indexrelid, true)::text) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = '%s'::regclass AND relam = (SELECT oid FROM pg_am WHERE amname = 'iforest')", 2),
		$n_shards, 'iforest_check finds nothing wrong with the two indexes of any shard');
};
say_measured('iforest_check of all shards, with their rows: %.0f s', $checking);
stop_fleet($front, @workers);
done_testing();
