# Questions to spans of a fleet: what dashboards ask, and every kind of aggregate. Citus and foreign tables are asked the same.
package Questions;
use strict;
use warnings FATAL => 'all';

my ($t0, $t1) = ("'2024-03-02 06:00 UTC'::timestamptz", "'2024-03-02 10:00 UTC'::timestamptz");
my $hour = "date_bin('1 hour', ts, '2000-01-01 00:00 UTC'::timestamptz)";
my $window = "ts >= $t0 AND ts < $t1";
my $percentiles = 'percentile_disc(0.99) WITHIN GROUP (ORDER BY dur), percentile_cont(0.123456) WITHIN GROUP (ORDER BY dur) FILTER (WHERE dur > 100000)';
my $quantiles = 'iforest_quantile(iforest_sketch(dur), 0.99, min(dur), max(dur)),
	iforest_quantile_cont(iforest_sketch(dur) FILTER (WHERE dur > 100000), 0.123456, min(dur) FILTER (WHERE dur > 100000), max(dur) FILTER (WHERE dur > 100000))';

# Each is asked of spans, and after settings; the answer is that of the plain table every, or of a query that is given.
# How a question is answered: by the index of each shard that it is sent to; by rows, as the index does not tell; or refused, by Citus.
our @questions = (
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

# What is sent to foreign tables if it is written by service, and combined above: what is computed of the parts, and the parts.
my %parts = (
	'the last row of each service' => [ 'service, max(p0), max(p1)', 'iforest_last_time(dur, ts, ctid)', 'iforest_last(dur, ts, ctid)' ],
	'count of services' => [ 'count(*)', '1' ]);

# Returns a question's query by service, or nothing.
sub by_service
{
	my ($outer, @inner) = @{ $parts{ $_[0] } // return };
	my $end = $outer =~ /^service/ ? ' GROUP BY 1 ORDER BY 1' : '';

	return "SELECT $outer FROM (SELECT service, " . join(', ', map { "$inner[$_] AS p$_" } 0 .. $#inner) . " FROM spans GROUP BY 1) of_shards$end";
}

# A question's settings, if it has any, and its query.
sub parts_of
{
	return $_[0] =~ /^((?:SET [^;]*; )?)(.*)/s;
}

1;
