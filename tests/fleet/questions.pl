# Questions to a distributed table: which its shards answer from their indexes, and that the answers are those of a plain table.
#
# IFOREST_WORKERS and IFOREST_SHARDS make another fleet than two workers with 8 shards. With IFOREST_ROWS set it also prints a table of
# times: of each question with the indexes of the shards and, by iforest.enable = off, with covering B-trees (IFOREST_BTREES=0: without); and of processor time with the indexes.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

plan skip_all => Fleet::missing() if Fleet::missing();

my $n = $ENV{IFOREST_ROWS} // 60000;
my ($n_workers, $n_shards, $has_btrees) = ($ENV{IFOREST_WORKERS} // 2, $ENV{IFOREST_SHARDS} // 8, $ENV{IFOREST_BTREES} // 1);
my ($t0, $t1) = ("'2024-03-02 06:00 UTC'::timestamptz", "'2024-03-02 10:00 UTC'::timestamptz");
my $hour = "date_bin('1 hour', ts, '2000-01-01 00:00 UTC'::timestamptz)";
my $window = "ts >= $t0 AND ts < $t1";
my $percentiles = 'percentile_disc(0.99) WITHIN GROUP (ORDER BY dur), percentile_cont(0.123456) WITHIN GROUP (ORDER BY dur) FILTER (WHERE dur > 100000)';
my $quantiles = 'iforest_quantile(iforest_sketch(dur), 0.99, min(dur), max(dur)),
	iforest_quantile_cont(iforest_sketch(dur) FILTER (WHERE dur > 100000), 0.123456, min(dur) FILTER (WHERE dur > 100000), max(dur) FILTER (WHERE dur > 100000))';

# Each is asked of spans, and after settings; the answer is that of the plain table every, or of a query that is given.
# How a question is answered: by the index of each shard that it is sent to; by rows, as the index does not tell; or refused, by Citus.
my @questions = (
	[ index => 'whole table', 'SELECT count(*), sum(dur), max(dur) FROM spans' ],
	[ index => 'avg and min of the whole table', 'SELECT avg(dur), min(dur), min(ts), max(ts) FROM spans' ],
	[ index => 'by service', 'SELECT service, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'by service, HAVING', 'SELECT service, count(*), avg(dur) FROM spans GROUP BY 1 HAVING avg(dur) > 65000 ORDER BY 1' ],
	[ index => 'by hour', "SELECT $hour AS hour, count(*), sum(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1" ],
	[ index => 'by service and hour', "SELECT service, $hour AS hour, count(*), sum(dur) FROM spans GROUP BY 1, 2 ORDER BY 1, 2" ],
	[ index => '1920 buckets', "SELECT iforest_bucket(ts, '2024-03-01 00:00 UTC'::timestamptz, '2024-03-05 00:00 UTC', 1920) AS bucket, count(*), max(dur) FROM spans
		WHERE ts >= '2024-03-01 00:00 UTC' AND ts < '2024-03-05 00:00 UTC' GROUP BY 1 ORDER BY 1" ],
	[ index => '1920 buckets of a window', "SELECT iforest_bucket(ts, $t0, $t1, 1920) AS bucket, count(*), max(dur) FROM spans WHERE $window GROUP BY 1 ORDER BY 1" ],
	[ index => 'one service', "SELECT count(*), sum(dur), max(dur) FROM spans WHERE service = 'service 5'" ],
	[ index => 'one service by hour', "SELECT $hour AS hour, count(*), sum(dur) FROM spans WHERE service = 'service 5' GROUP BY 1 ORDER BY 1" ],
	[ index => 'three services', "SELECT count(*), sum(dur) FROM spans WHERE service IN ('service 1', 'service 7', 'service 20')" ],
	[ index => 'a window of 4 hours', "SELECT count(*), sum(dur), max(dur) FROM spans WHERE $window" ],
	[ index => 'a window of 4 hours by service', "SELECT service, count(*), sum(dur), max(dur) FROM spans WHERE $window GROUP BY 1 ORDER BY 1" ],
	[ index => 'stddev by service', 'SELECT service, stddev(dur) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'stddev', 'SELECT stddev(dur), var_pop(dur) FROM spans' ],
	[ index => 'stddev by hour', "SELECT $hour AS hour, stddev_pop(dur), variance(dur) FROM spans GROUP BY 1 ORDER BY 1" ],
	[ index => 'p99 by service', 'SELECT service, iforest_quantile(iforest_sketch(dur), 0.99) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'p99', 'SELECT iforest_quantile(iforest_sketch(dur), 0.99) FROM spans' ],
	[ index => 'p50 and p99 by hour', "SELECT $hour AS hour, iforest_quantile(iforest_sketch(dur), 0.5), iforest_quantile(iforest_sketch(dur), 0.99) FROM spans GROUP BY 1 ORDER BY 1" ],
	[ index => 'histogram of a sketch', 'SELECT b.lower, b.count FROM (SELECT iforest_sketch(dur) AS sketch FROM spans) s, iforest_histogram(s.sketch, ARRAY[1000, 10000, 100000]) b ORDER BY 1' ],
	[ index => 'distinct durations', 'SELECT iforest_distinct_count(iforest_distinct(dur)) FROM spans' ],
	[ index => 'top 10', 'SELECT id, service, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10' ],
	[ index => 'top 10 of a service', "SELECT id, dur FROM spans WHERE service = 'service 3' AND dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10" ],
	[ index => 'two levels', "SELECT service, max(n), avg(total) FROM (SELECT service, $hour AS hour, count(*) AS n, sum(dur) AS total FROM spans GROUP BY 1, 2) s GROUP BY 1 ORDER BY 1" ],
	[ index => 'longer than', 'SELECT count(*) FROM spans WHERE dur > 100000' ],
	[ index => 'longer than, by service', 'SELECT service, count(*) FILTER (WHERE dur > 100000), count(*) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'longer than, as FILTER', 'SELECT count(*) FILTER (WHERE dur > 100000), count(*) FROM spans' ],
	[ index => 'bands', 'SELECT width_bucket(dur, ARRAY[1001, 100001]::bigint[]) AS band, count(*) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'the last row of each service', 'SELECT DISTINCT ON (service) service, ts, dur FROM spans ORDER BY service, ts DESC' ],
	[ index => 'first and last by service', 'SELECT service, iforest_first(dur, ts, ctid), iforest_last(dur, ts, ctid) FROM spans GROUP BY 1 ORDER BY 1' ],
	[ index => 'first and last', 'SELECT iforest_first(dur, ts, ctid), iforest_last(dur, ts, ctid), iforest_last_time(dur, ts, ctid) FROM spans' ],
	[ index => 'when it was longest, by hour', "SELECT $hour AS hour, max(dur), iforest_max_time(dur, ts, ctid), iforest_min_time(dur, ts, ctid) FROM spans GROUP BY 1 ORDER BY 1" ],
	[ index => 'the row that was longest', 'SELECT iforest_max_row(dur, ts, ctid), iforest_min_row(dur, ts, ctid), iforest_first_row(dur, ts, ctid), iforest_last_row(dur, ts, ctid) FROM spans',
		'SET iforest.enable = off; SELECT iforest_max_row(dur, ts, ctid), iforest_min_row(dur, ts, ctid), iforest_first_row(dur, ts, ctid), iforest_last_row(dur, ts, ctid) FROM spans' ],
	[ index => 'percentiles from sketches', "SET iforest.approximate_percentiles = on; SELECT $percentiles FROM spans", "SELECT $quantiles FROM every" ],
	[ index => 'percentiles by hour, from sketches', "SET iforest.approximate_percentiles = on; SELECT $hour AS hour, $percentiles FROM spans GROUP BY 1 ORDER BY 1", "SELECT $hour AS hour, $quantiles FROM every GROUP BY 1 ORDER BY 1" ],
	[ index => 'count(DISTINCT) from sketches', "SET iforest.approximate_distinct = on; SELECT count(DISTINCT dur) FROM spans", 'SELECT iforest_distinct_count(iforest_distinct(dur)) FROM every' ],
	[ index => 'count of services', 'SELECT count(DISTINCT service) FROM spans' ],
	[ refused => 'grouping sets', 'SELECT service, count(*) FROM spans GROUP BY ROLLUP (service) ORDER BY 1' ]);

# at a few rows a shard rows would often be as cheap: seen is that the index can answer
my @small = $ENV{IFOREST_ROWS} ? ('shared_buffers = 512MB', 'max_wal_size = 4GB', 'citus.max_cached_conns_per_worker = 16') : map { "enable_$_ = off" } qw(seqscan indexscan indexonlyscan bitmapscan);
my ($front, @workers) = start_fleet($n_workers, @small);
my $loaded = Time::HiRes::time();
make_spans($front, $n, $n_shards);
note(sprintf('%s spans loaded and indexed in %.1f s; Citus %s', $n, Time::HiRes::time() - $loaded, $front->safe_psql('postgres', 'SELECT citus_version()')));

# A question's settings, if it has any, and its query.
sub parts_of
{
	return $_[0] =~ /^((?:SET [^;]*; )?)(.*)/s;
}

# Compares the answer with the other.
sub is_answered
{
	my ($question, $title) = @_;
	my $other = $question->[3] // $question->[2] =~ s/\bspans\b/every/gr;
	is($front->safe_psql('postgres', $question->[2]), $front->safe_psql('postgres', $other), $title);
}

for my $question (@questions)
{
	my ($how, $title, $query) = @$question;
	if ($how eq 'refused')
	{
		my ($code, undef, $error) = $front->psql('postgres', $query);
		isnt($code, 0, "$title: refused by Citus");
		next;
	}
	my ($settings, $asked) = parts_of($query);
	my $plan = $front->safe_psql('postgres', "${settings}EXPLAIN (COSTS OFF) $asked");
	my @tasks = split /->  Task\n/, $plan;
	@tasks = grep { /_\d{6}\b/ } @tasks;
	cmp_ok(scalar @tasks, '>', 0, "$title: is sent to shards");
	my @others = grep { !/Custom Scan \(IForest/ } @tasks;
	# of many rows the planner chooses; of a narrow window in many buckets it may take a B-tree
	note("$title: " . @others . ' shards do not answer from the index') if $ENV{IFOREST_ROWS};
	is(scalar(@others), 0, "$title: each shard answers from its index") or diag($others[0]) unless $ENV{IFOREST_ROWS};
	is_answered($question, "$title: the answer is that of a plain table");
}

# Returns the times of a question in milliseconds, ascending, of some runs in one session.
sub times_of
{
	my ($question, $rounds) = @_;
	my ($settings, $query) = parts_of($question);
	my $output = $front->safe_psql('postgres', join("\n", $settings, '\timing on', '\o /dev/null', ("$query;") x ($rounds + 1)));
	my (undef, @times) = $output =~ /^Time: ([\d.]+) ms/mg;
	return sort { $a <=> $b } @times;
}

# Returns what a question costs with the indexes: processor time on the coordinator and of all shards in milliseconds, tasks, rows and bytes sent.
sub costs_of
{
	my ($question, $milliseconds) = @_;
	my ($settings, $query) = parts_of($question);
	my $rounds = int(min(200, max(20, 2000 / $milliseconds)));
	my @before = map { processor_time(@$_) } [$front], \@workers;
	times_of($question, $rounds);
	my @after = map { processor_time(@$_) } [$front], \@workers;
	my $plan = $front->safe_psql('postgres', "${settings}EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
	my ($tasks) = $plan =~ /Task Count: (\d+)/;
	my ($rows) = $plan =~ /Citus Adaptive\) \(actual rows=(\d+)/;
	my ($bytes, $unit) = $plan =~ /Tuple data received from nodes: (\d+) (bytes|kB|MB)/;
	$bytes *= { bytes => 1, kB => 1024, MB => 1024 * 1024 }->{$unit};
	return (map({ ($after[$_] - $before[$_]) / ($rounds + 1) } 0, 1), $tasks, $rows, $bytes);
}

if ($ENV{IFOREST_ROWS})
{
	my (%times, %costs);
	my @timed = grep { $_->[0] ne 'refused' } @questions;
	for my $enable ('on', $has_btrees ? 'off' : ())
	{
		set_everywhere("iforest.enable = $enable", $front, @workers);
		for my $question (@timed)
		{
			my @sorted = times_of($question->[2], $enable eq 'on' ? 9 : 3);
			$times{$enable}{ $question->[1] } = $sorted[ @sorted / 2 ];
			$costs{ $question->[1] } = [ costs_of($question->[2], $sorted[ @sorted / 2 ]) ] if $enable eq 'on';
		}
	}
	diag sprintf '%-36s %9s %9s %12s %9s %6s %8s %9s', "$n spans, $n_shards shards; ms", 'iforest', 'B-trees', 'coordinator', 'shards', 'tasks', 'rows', 'bytes';
	diag sprintf '%-36s %9.1f %9.1f %12.2f %9.2f %6d %8d %9d', $_->[1], $times{on}{ $_->[1] }, $times{off}{ $_->[1] } // 0, @{ $costs{ $_->[1] } } for @timed;
}
else
{
	# the indexes off, on shards alone or everywhere: states are then made of rows
	for my $nodes ([@workers], [ $front, @workers ])
	{
		set_everywhere('iforest.enable = off', @$nodes);
		# by iforest.enable = off on the coordinator nothing is approximate
		my @asked = grep { $_->[0] eq 'index' && (@$nodes == @workers || $_->[2] !~ /^SET/) } @questions;
		is_answered($_, "$_->[1]: by rows, on " . @$nodes . ' nodes') for @asked;
		set_everywhere('iforest.enable = on', @$nodes);
	}
}
stop_fleet($front, @workers);
done_testing();
