# Damaged and forged pages, without PostgreSQL's checksums: each is an error at once that names index and block; no file grows by it, and pages
# without a sum, as earlier versions wrote them, are read as before. Every kind of damage has a table of its own, so that one restart does for all.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { BLOCK => 8192, CONTENT => 24, SUM => 8168, SPECIAL => 8176, NONE => 0xffffffff, FACTOR => 0x9E3779B1 << 32 | 0x85EBCA87 };
use constant { LIST => 3, OPEN_CHAINS => CONTENT + 320, SERIES => CONTENT + 312 };

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(no_data_checksums => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nstatement_timeout = '5s'\nlock_timeout = '5s'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION iforest');

# 5000 rows in a run, then 4500 pending on several pages of one chain, as many as earlier versions had on one page of theirs if the page is to
# be made one. Of many services the names fill several pages.
sub make_table
{
	my ($name) = @_;
	my $n = $name =~ /many/ ? 1000 : 3;
	my $last = $name =~ /^old/ ? 5250 : 9500;
	$node->safe_psql('postgres', qq{
		CREATE TABLE $name(service text, ts bigint, dur bigint);
		INSERT INTO $name SELECT 'service ' || i % $n, i, i % 1000 FROM generate_series(1, 5000) i;
		CREATE INDEX ${name}_if ON $name USING iforest (service, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1000);
		INSERT INTO $name SELECT 'service ' || i % $n, i, i % 1000 FROM generate_series(5001, $last) i;
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

# A checksum that takes up one number more.
sub mix
{
	use integer;
	my ($sum, $number) = @_;
	$sum = ($sum ^ $number) * FACTOR;
	return $sum ^ (($sum >> 32) & 0xffffffff);
}

# Gives a page that has a sum the sum of these parts of its content, and of its next block if that is wanted.
sub sum_up
{
	my ($name, $block, $with_next, @parts) = @_;
	return if !(ord(get($name, $block, SPECIAL + 13, 1)) & 2);
	my $sum = mix(mix(0, get32($name, $block, SPECIAL) | get32($name, $block, SPECIAL + 8) << 32), $block) & 0xffffffff;
	for my $part (@parts)
	{
		$sum = mix($sum, $_) for unpack 'q<*', $part . "\0" x (-length($part) % 8);
		$sum &= 0xffffffff;
	}
	$sum = mix($sum, get32($name, $block, SPECIAL + 4)) & 0xffffffff if $with_next;
	return put($name, $block, SUM, pack('Vvv', $sum, length(join('', @parts)), $with_next));
}

# The same of all its content at once.
sub sum_up_all
{
	my ($name, $block) = @_;
	return sum_up($name, $block, 1, get($name, $block, CONTENT, unpack('v', get($name, $block, 12, 2)) - CONTENT));
}

# Makes it a page of an earlier version.
sub drop_sum
{
	my ($name, $block) = @_;
	put($name, $block, 14, pack('v', SPECIAL));
	return put($name, $block, SPECIAL + 13, chr(ord(get($name, $block, SPECIAL + 13, 1)) & ~2));
}

sub varint
{
	my ($bytes) = @_;
	my ($number, $shift, $byte) = (0, 0);
	do { $byte = ord(substr($$bytes, 0, 1, '')); $number |= ($byte & 127) << $shift; $shift += 7; } while ($byte & 128);
	return $number;
}

sub unzigzag { my ($number) = @_; return $number & 1 ? -($number >> 1) - 1 : $number >> 1; }

# Entries of a page, each as an earlier version wrote it. They have a time and one value.
sub fixed_entries
{
	my ($name, $block) = @_;
	my $bytes = get($name, $block, CONTENT, SPECIAL - CONTENT);
	my ($first_block, $first_time, @entries) = (0, 0);
	while (ord($bytes) != 0)
	{
		my ($offset, $series, $heap_block) = (varint(\$bytes), varint(\$bytes), $first_block + unzigzag(varint(\$bytes)));
		my $lengths = ord(substr($bytes, 0, 1, ''));
		my $time = $first_time + unzigzag(unpack('Q<', substr($bytes, 0, $lengths & 15, '') . "\0" x 8));
		my $value = unzigzag(unpack('Q<', substr($bytes, 0, $lengths >> 4, '') . "\0" x 8));
		substr($bytes, 0, 2, '');
		($first_block, $first_time) = ($heap_block, $time) if !@entries;
		push @entries, pack('VvvVVq<q<', $series, 1, $offset, $heap_block, 0, $time, $value);
	}
	return @entries;
}

# Makes a page of pending rows one of an earlier version, with a sum of the first of its entries or with none.
sub make_fixed
{
	my ($name, $block, $n_summed) = @_;
	my @entries = fixed_entries($name, $block);
	my $bytes = join '', @entries;
	put($name, $block, CONTENT, $bytes . "\0" x (SPECIAL - CONTENT - length $bytes));
	put($name, $block, 12, pack('vv', CONTENT + length $bytes, $n_summed ? SUM : SPECIAL));
	put($name, $block, SPECIAL + 13, chr($n_summed ? 2 : 0));
	sum_up($name, $block, 0, @entries[0 .. $n_summed - 1]) if $n_summed;
	return;
}

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
my $groups = 'SET enable_seqscan = off; SELECT service, count(*) FROM %s WHERE ts > 10 GROUP BY service';
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
	extent_hole => [ sub { my $at = (sort { get32($_[0], LIST, $a) <=> get32($_[0], LIST, $b) } extents(@_))[-1]; put32(@_, LIST, $at, get32(@_, LIST, $at) + 2); LIST },
		$insert, $merge, $vacuum, $sums ],
	extent_unused => [ sub { my $n = unpack('v', get(@_, LIST, 12, 2)); put(@_, LIST, $n, pack('V6', 1500, 0, 0, 0, 0, 0)); put(@_, LIST, 12, pack('v', $n + 24)); LIST } ],
	list_chain => [ sub { my $block = (chain(@_))[-1]; put32(@_, LIST, SPECIAL + 4, $block); $block }, $insert, $vacuum, $sums ],
	list_meta => [ sub { put32(@_, LIST, SPECIAL + 4, 0); 0 }, $insert, $vacuum, $sums ],
	list_circle => [ sub { put32(@_, LIST, SPECIAL + 4, LIST); LIST }, $insert, $vacuum, $sums ],
	list_far => [ sub { put32(@_, LIST, SPECIAL + 4, 1 << 28); 1 << 28 }, $insert, $vacuum, $sums ],
	chain_pages => [ sub { my $at = chain_at(@_, 1) + 12; put32(@_, 0, $at, get32(@_, 0, $at) | 1 << 24); 0 }, $insert, $merge, $vacuum, $sums, $rows, $top ],
	chain_none => [ sub { put32(@_, 0, chain_at(@_, 0) + 12, 1 << 24); 0 }, $insert, $merge, $vacuum, $sums ],
	chain_tail => [ sub { put32(@_, 0, chain_at(@_, 1) + 8, (chain(@_))[2]); (chain(@_))[2] }, $sums, $rows, $merge ],
	chain_clock => [ sub { put32(@_, 0, chain_at(@_, 0), 1 << 24); 0 }, $merge, $vacuum, $sums ],
	series_tail => [ sub { put32(@_, 0, SERIES + 4, 1 << 20); 0 }, $insert, $sums ],
	series_circle => [ sub { my ($block) = blocks(@_, 4); put(@_, $block, 12, pack('v', CONTENT)); put32(@_, $block, SPECIAL + 4, $block); sum_up_all(@_, $block); $block },
		$sums, $rows ],
	slot_far => [ sub { put32(@_, 0, CONTENT + 40, 2); put32(@_, 0, CONTENT + 48 + 4, 1 << 28); 0 }, $sums, $vacuum ],
	entry => [ sub { my $block = (chain(@_))[1]; put32(@_, $block, CONTENT + 500, get32(@_, $block, CONTENT + 500) ^ 64); $block }, $sums, $rows, $top, $merge, $vacuum, $check ],
	entry_length => [ sub { my $block = (chain(@_))[-1]; put(@_, $block, 12, pack('v', CONTENT + 32)); $block }, $sums, $rows, $check ],
	pending_owner => [ sub { my $block = (chain(@_))[1]; put32(@_, $block, SPECIAL, 999); $block }, $sums, $rows, $top, $merge, $vacuum, $check ],
	pending_overwritten => [ sub { my $block = (chain(@_))[2]; put(@_, $block, 100, "\x5a" x 8092); $block }, $sums, $rows, $top, $vacuum, $check ],
	pending_short => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, NONE); $block }, $sums, $rows, $merge, $check ],
	pending_circle => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, $block); $block }, $check ],
	pending_far => [ sub { my $block = (chain(@_))[2]; put32(@_, $block, SPECIAL + 4, 1 << 28); 1 << 28 }, $sums, $rows, $vacuum, $check ],
	run_zeroed => [ sub { my $block = (blocks(@_, 6))[1]; put(@_, $block, 0, "\0" x BLOCK); $block }, $sums, $rows, $merge, $check ],
	raw_extent => [ sub { my $at = (sort { get32($_[0], LIST, $a) <=> get32($_[0], LIST, $b) } extents(@_))[-1]; put32(@_, LIST, $at + 4, get32(@_, LIST, $at + 4) + 1); LIST },
		$insert, $merge, $vacuum, $sums, $check ],
	raw_meta => [ sub { put32(@_, 0, $_, NONE) for SERIES, SERIES + 4; 0 }, $insert, $merge, $vacuum, $groups, $check ],
	raw_key => [ sub { my ($block) = blocks(@_, 4); put(@_, $block, CONTENT + 2 + 5 + length('service '), '7'); $block }, $groups, $rows, $check ],
	raw_key_moved => [ sub { my ($block) = blocks(@_, 4); put32(@_, $block, SPECIAL + 8, 3); $block }, $groups, $rows, $check ],
	raw_many_short => [ sub { my $block = (blocks(@_, 4))[1]; put32(@_, $block, SPECIAL + 4, NONE); $block }, $groups, $rows, $check ],
	raw_many_less => [ sub { my $block = (blocks(@_, 4))[-1]; put(@_, $block, 12, pack('v', CONTENT)); $block }, $groups, $rows, $check ],
	run_owner => [ sub { my $block = (blocks(@_, 6))[1]; put32(@_, $block, SPECIAL, 999); $block }, $sums, $rows, $merge, $check ]);

my @sound = ('behind', 'many', 'old', 'old_many', 'whole');
make_table($_) for sort keys %damage, @sound;
like($node->safe_psql('postgres', "EXPLAIN " . sprintf($sums, 'whole')), qr/IForestAggregate/, 'sums are read from the index');

my $mixed_chain = $node->safe_psql('postgres', q{
	CREATE TABLE mixed(ts bigint, dur bigint); CREATE INDEX mixed_if ON mixed USING iforest (ts) INCLUDE (dur);
	INSERT INTO mixed SELECT i, i FROM generate_series(1, 20) i;
	SELECT pg_backend_pid() % 8 });
for my $name (sort keys %damage, @sound, 'mixed')
{
	$file{$name} = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${name}_if')");
}
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop;

my (%block, %size);
for my $name (sort keys %damage)
{
	$block{$name} = $damage{$name}[0]->($name);
	next if $name =~ /^raw_/;
	sum_up_all($name, $_) for 0, LIST;
}
for my $name (sort keys %damage)
{
	$size{$name} = -s $file{$name};
}
# Pages as an earlier version made them: without a sum, and with what it appended behind what is summed up.
for my $name ('old', 'old_many')
{
	drop_sum($name, $_) for 0, LIST, blocks($name, 4);
	make_fixed($name, $_, 0) for chain($name);
}
my ($names) = blocks('behind', 4);
sum_up('behind', $names, 0, get('behind', $names, CONTENT, 2 + unpack('v', get('behind', $names, CONTENT, 2))));
make_fixed('mixed', (chain('mixed'))[0], 10);
$node->start;

for my $name (sort keys %damage)
{
	my ($damage, @statements) = @{ $damage{$name} };
	# of a number that does not count there is nothing to be told
	$node->safe_psql('postgres', sprintf($insert, $name)) if !@statements;
	for my $statement (@statements)
	{
		my $is_late;
		my ($code, $output, $errors) = $node->psql('postgres', sprintf($statement, $name), timeout => 60, timed_out => \$is_late);
		my $where = $block{$name} == 0 ? qr/(its metapage is wrong\nDETAIL:  Block 0 has|block 0 is not what it should be)/ : qr/block $block{$name} is not what it should be/;
		like($errors, qr/index "${name}_if" is corrupt: $where/, "$name: " . sprintf($statement, $name));
	}
	# by what was sealed before the damage was met
	cmp_ok(-s $file{$name}, '<=', 2 * $size{$name} + 16 * BLOCK, "$name: the file has hardly grown");
}

sub is_right
{
	my ($name, $when) = @_;
	my $service = $name eq 'mixed' ? "''" : 'service';
	my $question = "SELECT $service AS service, count(*), sum(dur), min(ts), max(ts) FROM $name WHERE ts > 0 GROUP BY 1 ORDER BY 1";
	is($node->safe_psql('postgres', "SET enable_seqscan = off; $question"), $node->safe_psql('postgres', "SET iforest.enable = off;
		SET enable_indexscan = off; SET enable_bitmapscan = off; $question"), "$name, $when: as the table answers");
	is($node->safe_psql('postgres', "SELECT iforest_check('${name}_if', true)"), '', "$name, $when: nothing is wrong");
	return;
}

is_right($_, 'as it was') for @sound, 'mixed';
$node->safe_psql('postgres', sprintf($insert, $_)) for @sound;
$node->safe_psql('postgres', "INSERT INTO $_ SELECT 'new service ' || i, i, i FROM generate_series(1, 1000) i") for @sound;
my $is_appended = 'f';
for (1 .. 400)
{
	$is_appended = $node->safe_psql('postgres', "INSERT INTO mixed SELECT i, i FROM generate_series(21, 600) i WHERE pg_backend_pid() % 8 = $mixed_chain;
		SELECT pg_backend_pid() % 8 = $mixed_chain");
	last if $is_appended eq 't';
	# process ids come in pairs, of which it shall not always be the same one
	system('true') if rand() < 0.5;
}
is($is_appended, 't', 'rows were appended to a chain of an earlier version');
is_right($_, 'with more rows') for @sound, 'mixed';
$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $_") for @sound, 'mixed';
is_right($_, 'sealed') for @sound, 'mixed';
$node->restart;
is_right($_, 'after a restart') for @sound, 'mixed';
done_testing();
