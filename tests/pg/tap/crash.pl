# A server that is stopped at once, amid inserts, vacuums and merges, comes up with a whole index; an unlogged table comes up empty.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest;

my $node = PostgreSQL::Test::Cluster->new('crashing');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\ncheckpoint_timeout = '1h'\nwal_level = replica");
$node->start;
make_spans($node, 'spans');
make_spans($node, 'quick', 'UNLOGGED');
add_spans($node, 'spans', 1, 3000);
$node->safe_psql('postgres', 'CHECKPOINT');

my %work = (
	inserts => "INSERT INTO spans SELECT -i, 'service ' || i % 6, to_timestamp(i), i FROM generate_series(1, 300) i;\n",
	vacuums => "DELETE FROM spans WHERE id < 10000 AND id % 10 = (random() * 10)::integer;\nVACUUM (INDEX_CLEANUP on) spans;\n"
	  . "INSERT INTO spans SELECT i, 'service ' || i % 6, to_timestamp(i), i FROM generate_series(1, 500) i;\n",
	merges => "INSERT INTO spans SELECT i, 'new ' || (random() * 1000)::integer, to_timestamp(i), i FROM generate_series(1, 500) i;\n"
	  . "SELECT iforest_merge('spans_if', random() < 0.5);\n");
for my $kind (sort keys %work)
{
	my $script = write_file("$PostgreSQL::Test::Utils::tmp_check/$kind.sql", $work{$kind});
	my $workers = start_pgbench($node, $script, 100000);
	add_spans($node, 'quick', 1, 2000);
	add_spans($node, 'spans', 10001, 10500);
	$node->poll_query_until('postgres', "SELECT count(*) > 3000 + 10 FROM spans WHERE id < 10001");
	$node->stop('immediate');
	$workers->finish;
	$node->start;
	same_as_table($node, 'spans', "crash amid $kind");
	index_is_whole($node, 'spans_if', "crash amid $kind");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM spans WHERE id BETWEEN 10001 AND 10500'), 500, "crash amid $kind: committed rows are there");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM quick'), 0, "crash amid $kind: the unlogged table is empty");
	index_is_whole($node, 'quick_if', "crash amid $kind, unlogged");
	add_spans($node, 'quick', 1, 2000);
	same_as_table($node, 'quick', "crash amid $kind, unlogged and filled again");
	$node->safe_psql('postgres', 'VACUUM spans');
	$node->safe_psql('postgres', "SELECT iforest_merge('spans_if', true)");
	same_as_table($node, 'spans', "crash amid $kind, vacuumed and merged");
	index_is_whole($node, 'spans_if', "crash amid $kind, vacuumed and merged");
	$node->safe_psql('postgres', 'TRUNCATE spans');
	add_spans($node, 'spans', 1, 3000);
}

# A build that is torn off leaves nothing that is used; wal_level = minimal skips the log of a new table, not its pages.
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0");
$node->restart;
$node->safe_psql('postgres', "BEGIN; CREATE TABLE made(id integer, ts integer); INSERT INTO made SELECT i, i FROM generate_series(1, 5000) i;
	CREATE INDEX made_if ON made USING iforest (ts); INSERT INTO made SELECT i, i FROM generate_series(5001, 6000) i; COMMIT;");
$node->stop('immediate');
$node->start;
index_is_whole($node, 'made_if', 'wal_level minimal');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*), sum(id) FROM made WHERE ts > 0'), '6000|18003000', 'wal_level minimal: all rows');
done_testing();
