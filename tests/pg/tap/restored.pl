# What the log holds is all that a server has that comes up after a loss of power, and all that a promoted replica has. With full_page_writes
# off, too, where records of changes are all that the log holds of a page; and of blocks that were only made ready, it holds nothing.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IforestTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, no_data_checksums => 1);
$primary->append_conf('postgresql.conf', "full_page_writes = off\nautovacuum = off\ncheckpoint_timeout = '1h'\nrestart_after_crash = off");
$primary->start;
$primary->backup('base');
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($primary, 'base', has_streaming => 1);
$replica->append_conf('postgresql.conf', "restart_after_crash = off");
$replica->start;

# Chains of pending pages take more blocks than they have pages: 5 of 8 here, at the end of the file.
$primary->safe_psql('postgres', "CREATE EXTENSION iforest; CREATE TABLE spans(id integer, service text, ts timestamptz, dur bigint)");
add_spans($primary, 'spans', 1, 100);
$primary->safe_psql('postgres', "CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur) WITH (background_merge = off)");
my $chain = $primary->safe_psql('postgres', "INSERT INTO spans SELECT i, 'service ' || i % 6, to_timestamp(i), i FROM generate_series(101, 3000) i;
	SELECT pg_backend_pid() % 8");
is($primary->safe_psql('postgres', "SELECT pending_pages FROM iforest_stats('spans_if')"), 5, 'a chain of pending pages');
$primary->wait_for_catchup($replica);
same_as_table($replica, 'spans', 'a replica of an index built without images of pages');

$primary->stop('immediate');
$primary->start;
same_as_table($primary, 'spans', 'a crash after an index was built without images of pages');
index_is_whole($primary, 'spans_if', 'a crash');
$primary->stop;

# The chain goes on, then another one begins.
$replica->promote;
my %begun;
for (1 .. 400)
{
	my $name = $replica->safe_psql('postgres', "INSERT INTO spans SELECT i, 'service ' || i % 6, to_timestamp(i), i
		FROM generate_series(3001, 3500) i WHERE pg_backend_pid() % 8 = $chain;
		INSERT INTO spans SELECT -1, 'service 1', to_timestamp(1) WHERE pg_backend_pid() % 8 <> $chain AND EXISTS (SELECT FROM spans WHERE id > 3000);
		SELECT pg_backend_pid() % 8 = $chain");
	$begun{$name} = 1 if $name eq 't' or $begun{t};
	last if $begun{t} and $begun{f};
	# process ids come in pairs, of which it shall not always be the same one
	system('true') if rand() < 0.5;
}
ok($begun{t} && $begun{f}, 'rows went into the chain and into another one');
same_as_table($replica, 'spans', 'promoted');
index_is_whole($replica, 'spans_if', 'promoted');

# A chain of which a page was lost is wrong, not busy: the pages' owners stand 16 bytes before their ends.
my $block = $replica->safe_psql('postgres', q{SELECT min(block) FROM iforest_stats('spans_if') s, generate_series(0, s.total_pages - 1) block,
	iforest_page('spans_if', block) p WHERE p.kind = 'pending'});
my $file = $replica->data_dir . '/' . $replica->safe_psql('postgres', "SELECT pg_relation_filepath('spans_if')");
$replica->stop;
open my $handle, '+<:raw', $file or die "$file: $!";
seek $handle, $block * 8192 + 8192 - 16, 0;
print $handle pack('V', 999);
close $handle;
$replica->start;
my ($code, $output, $errors) = $replica->psql('postgres', "SELECT iforest_check('spans_if')");
like($errors, qr/index "spans_if" is corrupt: block $block is not what it should be/, 'a page of a chain is lost');
done_testing();
