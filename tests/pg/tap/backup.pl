# What operators do with a database: dump and restore, base backup, data checksums, pg_amcheck, pg_upgrade.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1, extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
make_spans($node, 'spans');
add_spans($node, 'spans', 1, 4000);
$node->safe_psql('postgres', 'DELETE FROM spans WHERE id % 6 = 0');
$node->safe_psql('postgres', 'VACUUM spans');
add_spans($node, 'spans', 4001, 5000);
my $expected = answers($node, 'spans', 0);
my $definition = $node->safe_psql('postgres', "SELECT pg_get_indexdef('spans_if'::regclass)");
$node->safe_psql('postgres', "SELECT iforest_create_functions('spans_if')");
my $windows = $node->safe_psql('postgres', "SET iforest.enable = off; SELECT service, bucket, count, sum_dur FROM spans_if('1970-01-01Z', '1970-01-01 03:00Z', 7) ORDER BY 1, 2");
my $folder = $PostgreSQL::Test::Utils::tmp_check;

# A column that a parameter names is renamed: what is dumped can be loaded.
make_spans($node, 'renamed');
add_spans($node, 'renamed', 1, 1000);
$node->safe_psql('postgres', 'ALTER TABLE renamed RENAME dur TO lasted');
my $totals = 'SELECT service, count(*), sum(lasted) FROM renamed GROUP BY 1 ORDER BY 1';
my $renamed = $node->safe_psql('postgres', $totals);

# Dump and restore: as a script and as an archive.
command_ok([ 'pg_dump', '-Fc', '-f', "$folder/spans.dump", $node->connstr('postgres') ], 'pg_dump');
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init(extra => ['--data-checksums']);
$other->start;
command_ok([ 'pg_restore', '--exit-on-error', '-d', $other->connstr('postgres'), "$folder/spans.dump" ], 'pg_restore');
is($other->safe_psql('postgres', "SELECT pg_get_indexdef('spans_if'::regclass)"), $definition, 'restored: the same definition');
is(answers($other, 'spans', 1), $expected, 'restored: the same answers');
index_is_whole($other, 'spans_if', 'restored');
like($other->safe_psql('postgres', "SELECT pg_get_indexdef('renamed_if'::regclass)"), qr/INCLUDE \(lasted\) WITH \(.*duration=lasted/, 'restored: the parameter of the renamed column');
is($other->safe_psql('postgres', $totals), $renamed, 'restored: the same sums of the renamed column');
index_is_whole($other, 'renamed_if', 'restored after a rename');

# The functions of an index come back with it, and belong to it once they are made again.
is($other->safe_psql('postgres', "SELECT service, bucket, count, sum_dur FROM spans_if('1970-01-01Z', '1970-01-01 03:00Z', 7) ORDER BY 1, 2"), $windows,
	'restored: the same windows');
is($other->safe_psql('postgres', "SELECT cardinality(iforest_create_functions('spans_if'))"), 6, 'restored: functions made again');
is($other->safe_psql('postgres', "DROP INDEX spans_if; SELECT count(*) FROM pg_proc WHERE proname ~ '^spans_if'"), 0,
	'restored: they go with the index');

# Base backup.
$node->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
is(answers($copy, 'spans', 1), $expected, 'base backup: the same answers');
index_is_whole($copy, 'spans_if', 'base backup');
add_spans($copy, 'spans', 5001, 6000);
$copy->safe_psql('postgres', "VACUUM spans");
$copy->safe_psql('postgres', "SELECT iforest_merge('spans_if', true)");
same_as_table($copy, 'spans', 'base backup written to');

# Tools that read every page.
SKIP:
{
	skip 'no extension amcheck', 1 if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'") == 0;
	$node->command_ok([ 'pg_amcheck', '--install-missing', '--heapallindexed', 'postgres' ], 'pg_amcheck passes over our index');
}
$copy->stop;
command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ], 'checksums of every page are right');

# pg_upgrade to the same version carries the pages over as they are.
my $newer = PostgreSQL::Test::Cluster->new('newer');
$newer->init(extra => ['--data-checksums']);
$node->safe_psql('postgres', 'DROP EXTENSION IF EXISTS amcheck');
$node->stop;
my $bin = $node->config_data('--bindir');
chdir $folder or die;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $newer->data_dir, '-b', $bin, '-B', $bin,
		'-s', $node->host, '-p', $node->port, '-P', $newer->port ], 'pg_upgrade');
$newer->start;
is(answers($newer, 'spans', 1), $expected, 'upgraded: the same answers');
is($newer->safe_psql('postgres', "SELECT service, bucket, count, sum_dur FROM spans_if('1970-01-01Z', '1970-01-01 03:00Z', 7) ORDER BY 1, 2"), $windows,
	'upgraded: the same windows');
index_is_whole($newer, 'spans_if', 'upgraded');
$newer->safe_psql('postgres', 'ALTER TABLE renamed RENAME lasted TO dur');
like($newer->safe_psql('postgres', "SELECT pg_get_indexdef('renamed_if'::regclass)"), qr/duration=dur/, 'upgraded: a parameter follows a rename');
add_spans($newer, 'spans', 5001, 6000);
same_as_table($newer, 'spans', 'upgraded and written to');
done_testing();
