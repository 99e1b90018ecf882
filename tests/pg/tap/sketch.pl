# Kept sketches on disk: a standby reads them, a crash while they are written leaves what may be read, and damage is noticed.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, no_data_checksums => 1);
$node->append_conf('postgresql.conf', "autovacuum = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION iforest;
	CREATE TABLE spans(ts bigint, dur bigint, load float8, who text);
	INSERT INTO spans SELECT i, i * 7919 % 100003, sqrt(i), 'who ' || i % 30011 FROM generate_series(1, 200000) i;
	CREATE INDEX spans_if ON spans USING iforest (ts) INCLUDE (dur, load, who) WITH (sketch = 'dur, load', distinct = 'who, load');
	VACUUM ANALYZE spans; });

my $question = 'SELECT md5(iforest_sketch(dur)), md5(iforest_sketch(load)), md5(iforest_distinct(who)), md5(iforest_distinct(load)) FROM spans WHERE ts > 10';

my $percentiles = 'SELECT md5(iforest_sketch(dur)), md5(iforest_sketch(load)) FROM spans WHERE ts > 10';

sub answers_alike
{
	my ($at, $when) = @_;
	is($at->safe_psql('postgres', $question), $at->safe_psql('postgres', "SET iforest.enable = off; $question"), "$when: as the table answers");
}

sub leaf_pages
{
	my ($at) = @_;
	my ($n) = $at->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) $percentiles") =~ /Leaf Pages: (\d+)/;
	return $n;
}

my $all = $node->safe_psql('postgres', "SELECT leaf_pages FROM iforest_stats('spans_if')");
cmp_ok(4 * leaf_pages($node), '<', $all, 'sketches are read instead of leaf pages');

# A standby.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', 'DELETE FROM spans WHERE ts % 1000 = 3');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) spans');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
answers_alike($standby, 'standby');
cmp_ok(4 * leaf_pages($standby), '<', $all, 'standby: sketches are read instead of leaf pages');
$standby->stop;

# Crashes while they are written.
for my $round (1 .. 4)
{
	$node->safe_psql('postgres', "DELETE FROM spans WHERE ts % 1000 = 10 + $round");
	my $vacuum = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', 'VACUUM (INDEX_CLEANUP ON) spans' ],
		'>', '/dev/null', '2>', '/dev/null');
	select(undef, undef, undef, 0.04 * $round);
	$node->stop('immediate');
	eval { $vacuum->finish };
	$node->start;
	answers_alike($node, "crash $round");
	is($node->safe_psql('postgres', "SELECT iforest_check('spans_if', true)"), '', "crash $round: nothing is wrong");
}
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) spans');
cmp_ok(4 * leaf_pages($node), '<', $all, 'after crashes: sketches are kept again');

# Damage: of the list, which is then as if it were not there; of the sketches, which is an error.
my ($block) = $node->safe_psql('postgres', q{SELECT min(block) FROM iforest_stats('spans_if') s, generate_series(0, s.total_pages - 1) block,
	iforest_page('spans_if', block) p WHERE p.kind = 'sketch'});
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('spans_if')");

sub damage
{
	my ($offset) = @_;
	my $byte;
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop;
	open my $handle, '+<:raw', $file or die "$file: $!";
	seek $handle, $block * 8192 + 24 + 24 + $offset, 0;
	read $handle, $byte, 1;
	seek $handle, $block * 8192 + 24 + 24 + $offset, 0;
	print $handle chr(ord($byte) ^ 4);
	close $handle;
	$node->start;
	return;
}

damage(16 + 8);
answers_alike($node, 'a damaged list');
cmp_ok(leaf_pages($node), '>', $all / 2, 'a damaged list: entries are read');
$node->safe_psql('postgres', 'VACUUM spans');
cmp_ok(4 * leaf_pages($node), '<', $all, 'a damaged list: VACUUM makes it anew');
damage(3000);
for my $ask ($question, "SELECT iforest_check('spans_if')")
{
	my ($code, $output, $errors) = $node->psql('postgres', $ask);
	like($errors, qr/index "spans_if" is corrupt: the sketch kept of the page is wrong/, "a damaged sketch: $ask");
}
$node->safe_psql('postgres', 'REINDEX INDEX spans_if');
answers_alike($node, 'made anew');
done_testing();
