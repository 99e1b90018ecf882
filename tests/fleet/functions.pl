# Functions of an index over a distributed table: one call on the coordinator asks every shard, and gives what those of a plain table give.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => Fleet::missing() if Fleet::missing();

my ($front, @workers) = start_fleet(2);
make_spans($front, 20000, 8);
$front->safe_psql('postgres', "DROP INDEX spans_if");
my $definition = "USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur', duration_unit = 'ms', variance = 'dur', histogram = 'dur(1000)')";
$front->safe_psql('postgres', "CREATE INDEX ${_}_if ON $_ $definition") for 'spans', 'every';
# NULL is no value that Citus distributes by
$front->safe_psql('postgres', "INSERT INTO $_ VALUES (-2, 'no time', NULL, 7), (-3, '50% ''of'' \$1 \"x\"', '2024-03-02 UTC', NULL)") for 'spans', 'every';
my $made = $front->safe_psql('postgres', "SELECT unnest(iforest_create_functions('spans_if'))");
is($made, $front->safe_psql('postgres', "SELECT unnest(iforest_create_functions('every_if'))") =~ s/every/spans/gr, 'the same functions as for a plain table');

# a ctid is one of a shard: such columns are not compared
my $values = 'service, bucket, bucket_start, bucket_end, count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur, avg_dur, first_dur, last_dur, min_dur_ts, max_dur_ts, var_dur, stddev_dur, count_dur_le_1000, first_dur_ts, last_dur_ts';
my $spans = 'service, bucket, bucket_start, bucket_end, count, clipped_dur, longest_dur, longest_dur_ts';
my $window = "'2024-03-01 06:00 UTC', '2024-03-02 07:30 UTC'";
my %asked = (
	'all times' => "SELECT $values FROM spans_if() ORDER BY 1, 2",
	'a window' => "SELECT $values FROM spans_if($window) ORDER BY 1, 2",
	'buckets' => "SELECT $values FROM spans_if($window, 13) ORDER BY 1, 2",
	'steps' => "SELECT $values FROM spans_if($window, step => '7 hours', origin => '2024-03-01 00:20 UTC') ORDER BY 1, 2",
	'filled with zeros' => "SELECT $values FROM spans_if($window, 400, fill => 'zero') ORDER BY 1, 2",
	'filled with the last value' => "SELECT $values FROM spans_if($window, 400, fill => 'last') ORDER BY 1, 2",
	'a condition' => "SELECT $values FROM spans_if($window, 5) WHERE service > 'service 3' AND max_dur > 1000 ORDER BY 1, 2",
	'added up' => "SELECT bucket, sum(count), max(max_dur) FROM spans_if($window, 96) GROUP BY 1 ORDER BY 1",
	'an empty window' => "SELECT $values FROM spans_if('2024-03-02 UTC', '2024-03-01 UTC')",
	'rows' => "SELECT service, ts, dur, \"end\" FROM spans_if_rows('2024-03-01 06:00 UTC', '2024-03-01 06:10 UTC') ORDER BY 1, 2, 3",
	'overlaps' => "SELECT $spans FROM spans_if_overlap($window, 17) ORDER BY 1, 2",
	'overlaps filled' => "SELECT $spans FROM spans_if_overlap($window, 17, fill => 'zero') ORDER BY 1, 2",
	'peaks' => "SELECT * FROM spans_if_peak($window, 5) ORDER BY 1, 2",
	'counters' => "SELECT * FROM spans_if_counter($window, 5) ORDER BY 1, 2",
	'gaps' => "SELECT * FROM spans_if_gaps($window, '1 minute') ORDER BY 1, 2");
for my $what (sort keys %asked)
{
	(my $of_every = $asked{$what}) =~ s/spans_if/every_if/g;
	my $expected = $front->safe_psql('postgres', $of_every);
	is($front->safe_psql('postgres', $asked{$what}), $expected, $what);
	isnt($expected, '', "$what: there are rows") unless $what eq 'an empty window';
}
is($front->safe_psql('postgres', "SET datestyle = 'German'; SET TimeZone = 'Asia/Kathmandu'; SELECT max(last_ts), sum(count) FROM spans_if($window)"),
	$front->safe_psql('postgres', "SET datestyle = 'German'; SET TimeZone = 'Asia/Kathmandu'; SELECT max(last_ts), sum(count) FROM every_if($window)"), 'other styles of dates');

# ---- errors ----

sub fails
{
	my ($query, $message, $what) = @_;
	my (undef, undef, $error) = $front->psql('postgres', $query);
	like($error, $message, $what);
}
fails("SELECT * FROM spans_if($window, 0)", qr/shard \d+ does not answer: ERROR:  .*n/, 'an error of a shard');
fails("SELECT * FROM spans_if($window, 3, fill => '%s \$1 ''x')", qr/shard \d+ does not answer: .*fill/, 'an argument that looks like a format');
$front->safe_psql('postgres', "CREATE INDEX by_time ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')");
fails("SELECT iforest_create_functions('by_time')", qr/index "by_time" is on a distributed table, and its by columns are without the column of the shards, "service"/, 'an index without the column of the shards');

# after a move the functions ask the shard where it is
my ($shard, $host, $port) = split /\|/, $front->safe_psql('postgres', "SELECT shardid, nodename, nodeport FROM citus_shards WHERE table_name::text = 'spans' AND nodeport = " . $workers[0]->port . ' ORDER BY 1 LIMIT 1');
$front->safe_psql('postgres', sprintf("SELECT citus_move_shard_placement(%s, '%s', %s, '%s', %s, 'block_writes')", $shard, $host, $port, $workers[1]->host, $workers[1]->port));
is($front->safe_psql('postgres', $asked{buckets}), $front->safe_psql('postgres', $asked{buckets} =~ s/spans_if/every_if/r), 'a shard has moved');
$front->safe_psql('postgres', 'DROP INDEX spans_if');
is($front->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname LIKE 'spans_if%'"), 0, 'the functions go with their index');
stop_fleet($front, @workers);
done_testing();
