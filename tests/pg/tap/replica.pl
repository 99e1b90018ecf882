# A streaming replica answers as its primary does, while merges and vacuums are replayed; every replayed page is the one that was logged.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "wal_consistency_checking = 'generic'\nautovacuum = off\ncheckpoint_timeout = '1h'");
$primary->start;
make_spans($primary, 'spans');
$primary->safe_psql('postgres', "SELECT iforest_create_functions('spans_if')");
add_spans($primary, 'spans', 1, 3000);
my $replica = replica_of($primary, "max_standby_streaming_delay = -1\nhot_standby_feedback = off\nrestart_after_crash = off");
same_as_table($replica, 'spans', 'replica at its start');

# Readers on the replica: within one snapshot, the index's answer is the table's; a difference is a division by zero.
my $script = write_file("$PostgreSQL::Test::Utils::tmp_check/reader.sql", <<'END');
\set first random(0, 8000)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off;
SELECT count(*) AS n, coalesce(sum(id), 0) AS total FROM spans WHERE service = 'service 1' AND ts >= to_timestamp(:first) \gset index_
SET LOCAL enable_seqscan = on;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT count(*) AS n, coalesce(sum(id), 0) AS total FROM spans WHERE service = 'service 1' AND ts >= to_timestamp(:first) \gset table_
SELECT 1 / (:index_n = :table_n AND :index_total = :table_total)::integer;
SELECT count(*) AS n, coalesce(sum(count), 0) AS spans, coalesce(extract(epoch FROM sum(clipped_dur)), 0) AS inside, coalesce(sum(longest_dur), 0) AS longest
	FROM spans_if_overlap(to_timestamp(:first) + interval '500 us', to_timestamp(:first + 900), 5) \gset index_
SET LOCAL iforest.enable = off;
SELECT count(*) AS n, coalesce(sum(count), 0) AS spans, coalesce(extract(epoch FROM sum(clipped_dur)), 0) AS inside, coalesce(sum(longest_dur), 0) AS longest
	FROM spans_if_overlap(to_timestamp(:first) + interval '500 us', to_timestamp(:first + 900), 5) \gset table_
SELECT 1 / ((:index_n, :index_spans, :index_inside, :index_longest) = (:table_n, :table_spans, :table_inside, :table_longest))::integer;
COMMIT;
END
my $readers = start_pgbench($replica, $script, 1500);

my $row = 3000;
for my $round (1 .. 5)
{
	add_spans($primary, 'spans', $row + 1, $row + 2000);
	$row += 2000;
	$primary->safe_psql('postgres', "DELETE FROM spans WHERE id % 5 = $round % 5 AND id < $row - 1000");
	$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) spans');
	add_spans($primary, 'spans', $row + 1, $row + 500);
	$row += 500;
	$primary->safe_psql('postgres', "SELECT iforest_merge('spans_if', " . ($round % 2 ? 'true' : 'false') . ')');
	$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) spans') if $round == 3;
	$primary->wait_for_catchup($replica);
	is(answers($replica, 'spans', 1), answers($primary, 'spans', 1), "round $round: replica and primary answer alike");
	same_as_table($replica, 'spans', "round $round on the replica");
	is($replica->safe_psql('postgres', "SELECT runs, entries, removed, pending_entries, series FROM iforest_stats('spans_if')"),
		$primary->safe_psql('postgres', "SELECT runs, entries, removed, pending_entries, series FROM iforest_stats('spans_if')"),
		"round $round: the same runs");
}
like($replica->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM spans_if_overlap(to_timestamp(100), to_timestamp(900), 5)"),
	qr/Aggregate \(never executed\)/, 'what overlaps is read from the index on the replica');
ok($readers->finish, 'readers on the replica saw the same by index and by table') or diag(slurp_file("$script.log"));
index_is_whole($replica, 'spans_if', 'replica');
isnt(($replica->psql('postgres', "SELECT iforest_merge('spans_if')"))[0], 0, 'a replica cannot merge');

# The index is used on by the new primary.
$replica->promote;
add_spans($replica, 'spans', $row + 1, $row + 2000);
$replica->safe_psql('postgres', 'VACUUM spans');
$replica->safe_psql('postgres', "SELECT iforest_merge('spans_if', true)");
same_as_table($replica, 'spans', 'promoted');
index_is_whole($replica, 'spans_if', 'promoted');
done_testing();
