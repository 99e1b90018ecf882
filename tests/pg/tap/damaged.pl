# Damaged and forged pages, without PostgreSQL's checksums: each is an error at once that names index and block; no file grows by it, and pages
# of pending rows that earlier versions wrote are read as before. Every kind of damage has a table of its own, so that one restart does for all.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { BLOCK => 8192, CONTENT => 24, SUM => 8168, SPECIAL => 8176, NONE => 0xffffffff };
use constant { LIST => 3, OPEN_CHAINS => CONTENT + 320, SERIES => CONTENT + 312 };

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(no_data_checksums => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nstatement_timeout = '5s'\nlock_timeout = '5s'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION iforest');

# 5000 rows in a run, then 1500 pending on six pages of one chain.
sub make_table
{
	my ($name) = @_;
	$node->safe_psql('postgres', qq{
		CREATE TABLE $name(service text, ts bigint, dur bigint);
		INSERT INTO $name SELECT 'service ' || i % 3, i, i % 1000 FROM generate_series(1, 5000) i;
		CREATE INDEX ${name}_if ON $name USING iforest (service, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1000);
		INSERT INTO $name SELECT 'service ' || i % 3, i, i % 1000 FROM generate_series(5001, 6500) i;
		VACUUM (INDEX_CLEANUP OFF, ANALYZE) $name; });
	return;
}

# ---- bytes of an index's file, while the server is down ----

my %file;

sub get
{
	my ($name, $block, $offset, $n) = @_;
	open(my $handle, '<:raw', $file{$name}) or die "$file{$name}: $!";
	seek $handle, $block * BLOCK + $offset, 0;
	my $bytes;
	read $handle, $bytes, $n;
	close $handle;
	return $bytes;
}

sub put
{
	my ($name, $block, $offset, $bytes) = @_;
	open(my $handle, '+<:raw', $file{$name}) or die "$file{$name}: $!";
	seek $handle, $block * BLOCK + $offset, 0;
	print $handle $bytes;
	close $handle;
	return;
}

sub get32 { my ($name, $block, $offset) = @_; return unpack 'V', get($name, $block, $offset, 4); }
sub put32 { my ($name, $block, $offset, $number) = @_; return put($name, $block, $offset, pack('V', $number)); }

# Blocks of a kind, in order.
sub blocks
{
	my ($name, $kind) = @_;
	return grep { ord(get($name, $_, SPECIAL + 12, 1)) == $kind } 0 .. (-s $file{$name}) / BLOCK - 1;
}

sub chain_at
{
	my ($name, $is_used) = @_;
	my ($c) = grep { (get32($name, 0, OPEN_CHAINS + 16 * $_) != 0) == $is_used } 0 .. 7;
	return OPEN_CHAINS + 16 * $c;
}

# The blocks of the chain, in order.
sub chain
{
	my ($name) = @_;
	my @blocks = (get32($name, 0, chain_at($name, 1) + 4));
	push @blocks, get32($name, $blocks[-1], SPECIAL + 4) while get32($name, $blocks[-1], SPECIAL + 4) != NONE;
	return @blocks;
}

# The extents in use: where each stands on the page of the list.
sub extents
{
	my ($name) = @_;
	my $n = (unpack('v', get($name, LIST, 12, 2)) - CONTENT) / 24;
	return grep { get32($name, LIST, $_ + 4) > 0 } map { CONTENT + 24 * $_ } 0 .. $n - 1;
}

# ---- damage ----

my $sums = 'SELECT count(*), sum(dur) FROM %s WHERE ts > 10';
my $rows = "SET enable_seqscan = off; SET iforest.enable = off; SELECT count(dur) FROM %s WHERE service = 'service 1' AND ts > 10";
my $top = 'SELECT * FROM %s WHERE ts > 10 ORDER BY dur DESC LIMIT 3';
my $insert = "INSERT INTO %s SELECT 'service 1', i, i FROM generate_series(1, 3000) i";
my $merge = "SELECT iforest_merge('%s_if', true)";
my $vacuum = 'VACUUM (INDEX_CLEANUP ON) %s';
my $check = "SELECT iforest_check('%s_if')";

# What is done, by name: to the bytes, giving the block that is wrong; and what must notice it.
my %damage = (
	extent_far => [ sub { my $at = (extents(@_))[1]; put32(@_, LIST, $at, get32(@_, LIST, $at) | 1 << 30); LIST }, $insert, $merge, $vacuum, $sums, $rows ],
	extent_long => [ sub { my $at = (extents(@_))[-1]; put32(@_, LIST, $at + 4, get32(@_, LIST, $at + 4) | 1 << 24); LIST }, $insert, $merge, $vacuum ],
	extent_overlap => [ sub { my ($to, $from) = extents(@_); put32(@_, LIST, $to, get32(@_, LIST, $from)); LIST }, $insert, $merge, $vacuum ],
	list_circle => [ sub { put32(@_, LIST, SPECIAL + 4, LIST); LIST }, $insert, $vacuum, $sums ],
	list_far => [ sub { put32(@_, LIST, SPECIAL + 4, 1 << 28); 1 << 28 }, $insert, $vacuum, $sums ],
	chain_pages => [ sub { put32(@_, 0, chain_at(@_, 1) + 12, 6 | 1 << 24); 0 }, $insert, $merge, $vacuum, $sums, $rows, $top ],
	chain_none => [ sub { put32(@_, 0, chain_at(@_, 0) + 12, 1 << 24); 0 }, $insert, $merge, $vacuum, $sums ],
	chain_tail => [ sub { put32(@_, 0, chain_at(@_, 1) + 8, (chain(@_))[2]); (chain(@_))[2] }, $sums, $rows, $merge ],
	chain_clock => [ sub { put32(@_, 0, chain_at(@_, 0), 1 << 24); 0 }, $merge, $vacuum, $sums ],
	series_tail => [ sub { put32(@_, 0, SERIES + 4, 1 << 20); 0 }, $insert, $sums ],
	series_circle => [ sub { my ($block) = blocks(@_, 4); put(@_, $block, 12, pack('v', CONTENT)); put32(@_, $block, SPECIAL + 4, $block); $block },
		$sums, $rows ],
	slot_far => [ sub { put32(@_, 0, CONTENT + 40, 2); put32(@_, 0, CONTENT + 48 + 4, 1 << 28); 0 }, $sums, $vacuum ],
	entry => [ sub { my $block = (chain(@_))[1]; put32(@_, $block, CONTENT + 32 * 3 + 20, 99); $block }, $sums, $rows, $top, $merge, $vacuum, $check ],
	entry_length => [ sub { my $block = (chain(@_))[-1]; put(@_, $block, 12, pack('v', CONTENT + 32)); $block }, $sums, $rows, $check ],
	pending_owner => [ sub { my $block = (chain(@_))[1]; put32(@_, $block, SPECIAL, 999); $block }, $sums, $rows, $top, $merge, $vacuum, $check ],
	pending_overwritten => [ sub { my $block = (chain(@_))[2]; put(@_, $block, 100, "\x5a" x 8092); $block }, $sums, $rows, $top, $vacuum, $check ],
	pending_short => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, NONE); $block }, $sums, $rows, $merge, $check ],
	pending_circle => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, $block); $block }, $check ],
	pending_far => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, 1 << 28); 1 << 28 }, $sums, $rows, $vacuum, $check ],
	run_zeroed => [ sub { my $block = (blocks(@_, 6))[1]; put(@_, $block, 0, "\0" x BLOCK); $block }, $sums, $rows, $merge, $check ],
	run_owner => [ sub { my $block = (blocks(@_, 6))[1]; put32(@_, $block, SPECIAL, 999); $block }, $sums, $rows, $merge, $check ]);

make_table($_) for sort keys %damage, 'old', 'whole';
like($node->safe_psql('postgres', "EXPLAIN " . sprintf($sums, 'whole')), qr/IForestAggregate/, 'sums are read from the index');

# Two indexes whose pages of pending rows are the same but for their number of entries.
my $mixed_chain = $node->safe_psql('postgres', q{
	CREATE TABLE few(ts bigint, dur bigint); CREATE INDEX few_if ON few USING iforest (ts) INCLUDE (dur);
	CREATE TABLE mixed(ts bigint, dur bigint); CREATE INDEX mixed_if ON mixed USING iforest (ts) INCLUDE (dur);
	INSERT INTO few SELECT i, i FROM generate_series(1, 10) i; INSERT INTO mixed SELECT i, i FROM generate_series(1, 20) i;
	SELECT pg_backend_pid() % 8 });
for my $name (sort keys %damage, 'old', 'whole', 'few', 'mixed')
{
	$file{$name} = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${name}_if')");
}
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop;

my (%block, %size);
for my $name (sort keys %damage)
{
	$block{$name} = $damage{$name}[0]->($name);
	$size{$name} = -s $file{$name};
}
# Pages as an earlier version made them: without a sum, and with its entries behind those that are summed up.
put('old', $_, SPECIAL + 13, "\0") for chain('old');
put('mixed', (chain('mixed'))[0], SUM, get('few', (chain('few'))[0], SUM, 8));
$node->start;

for my $name (sort keys %damage)
{
	my ($damage, @statements) = @{ $damage{$name} };
	for my $statement (@statements)
	{
		my ($code, $output, $errors) = $node->psql('postgres', sprintf($statement, $name), timeout => 60);
		my $where = $block{$name} == 0 ? qr/its metapage is wrong\nDETAIL:  Block 0 has/ : qr/block $block{$name} is not what it should be/;
		like($errors, qr/index "${name}_if" is corrupt: $where/, "$name: " . sprintf($statement, $name));
	}
	# by what was sealed before the damage was met
	cmp_ok(-s $file{$name}, '<=', 2 * $size{$name}, "$name: the file has hardly grown");
}

sub is_right
{
	my ($name, $when) = @_;
	my $question = "SELECT count(*), sum(dur), min(ts), max(ts) FROM $name WHERE ts > 0";
	is($node->safe_psql('postgres', "SET enable_seqscan = off; $question"), $node->safe_psql('postgres', "SET iforest.enable = off;
		SET enable_indexscan = off; SET enable_bitmapscan = off; $question"), "$name, $when: as the table answers");
	is($node->safe_psql('postgres', "SELECT iforest_check('${name}_if', true)"), '', "$name, $when: nothing is wrong");
	return;
}

is_right($_, 'as it was') for 'whole', 'old', 'mixed';
$node->safe_psql('postgres', sprintf($insert, $_)) for 'whole', 'old';
my $is_appended = 'f';
for (1 .. 400)
{
	$is_appended = $node->safe_psql('postgres', "INSERT INTO mixed SELECT i, i FROM generate_series(21, 600) i WHERE pg_backend_pid() % 8 = $mixed_chain;
		SELECT pg_backend_pid() % 8 = $mixed_chain");
	last if $is_appended eq 't';
	# process ids come in pairs, of which it shall not always be the same one
	system('true') if rand() < 0.5;
}
is($is_appended, 't', 'rows were appended behind those of an earlier version');
is_right($_, 'with more rows') for 'whole', 'old', 'mixed';
$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $_") for 'whole', 'old', 'mixed';
is_right($_, 'sealed') for 'whole', 'old', 'mixed';
done_testing();
