# Questions to spans over postgres_fdw: which are sent to the shards as they are and answered from the indexes there, which once they are
# written by service, as docs/postgres_fleet.md has it, and that the answers are those of a plain table. Needs no Citus.
#
# IFOREST_WORKERS and IFOREST_SHARDS make another fleet than two servers with 8 shards. With IFOREST_ROWS set it also prints a table of
# times of what is sent, with the indexes of the shards and, by iforest.enable = off, with covering B-trees.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Questions;
use Test::More;

my $n = $ENV{IFOREST_ROWS} // 60000;
my ($n_workers, $n_shards, $n_services) = ($ENV{IFOREST_WORKERS} // 2, $ENV{IFOREST_SHARDS} // 8, 24);
my @scans = qw(seqscan indexscan indexonlyscan bitmapscan);

sub start_server
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $library = slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/ ? '$libdir/iforest' : 'iforest';
	# at a few rows a shard rows would often be as cheap: seen is that the index can answer
	my @small = $ENV{IFOREST_ROWS} ? ('shared_buffers = 512MB', 'max_wal_size = 4GB') : $name eq 'front' ? () : map { "enable_$_ = off" } @scans;

	$node->init;
	$node->append_conf('postgresql.conf', join("\n", "session_preload_libraries = '$library'", 'autovacuum = off', 'enable_partitionwise_aggregate = on', @small));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION iforest');
	return $node;
}

my $front = start_server('front');
plan skip_all => 'no extension postgres_fdw' unless -e $front->config_data('--pkglibdir') . '/postgres_fdw.so';
my @workers = map { start_server("shard_server_$_") } 1 .. $n_workers;

# ---- spans, a service in one shard ----

$front->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE TABLE spans($Fleet::columns) PARTITION BY LIST (service)");
$front->safe_psql('postgres', "CREATE TABLE every($Fleet::columns); INSERT INTO every " . Fleet::spans_between(0, $n - 1, $n) . '; VACUUM ANALYZE every');
for my $i (0 .. $#workers)
{
	$front->safe_psql('postgres', "CREATE SERVER server_$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $workers[$i]->host . "', port '" . $workers[$i]->port . "',
		dbname 'postgres', use_remote_estimate 'true', extensions 'iforest', fetch_size '10000', async_capable 'true', options '-c cursor_tuple_fraction=1');
		CREATE USER MAPPING FOR CURRENT_USER SERVER server_$i");
}
for my $shard (0 .. $n_shards - 1)
{
	my $worker = $workers[ $shard % $n_workers ];
	my $services = join ', ', map { "'service $_'" } grep { $_ % $n_shards == $shard } 0 .. $n_services - 1;
	$worker->safe_psql('postgres', "CREATE TABLE spans_$shard($Fleet::columns); CREATE INDEX spans_${shard}_if ON spans_$shard USING iforest (service, ts) INCLUDE (dur) WITH ($Fleet::options)");
	$worker->safe_psql('postgres', "INSERT INTO spans_$shard SELECT * FROM (" . Fleet::spans_between(0, $n - 1, $n) . ") s (id, service) WHERE service IN ($services);
		CREATE INDEX ON spans_$shard (service, ts) INCLUDE (dur); CREATE INDEX ON spans_$shard (ts) INCLUDE (service, dur)");
	$worker->safe_psql('postgres', "VACUUM ANALYZE spans_$shard");
	$front->safe_psql('postgres', "CREATE FOREIGN TABLE spans_$shard PARTITION OF spans FOR VALUES IN ($services) SERVER server_" . $shard % $n_workers . " OPTIONS (table_name 'spans_$shard')");
}

# ---- how each is answered ----

# The queries that a question sends to servers.
sub sent
{
	my ($settings, $query) = Questions::parts_of($_[0]);
	my $plan = $front->safe_psql('postgres', "$settings EXPLAIN (VERBOSE, COSTS OFF) $query");
	return $plan =~ /Remote SQL: (.*)/g;
}

# Returns how many of these queries are answered from an index, in part at least.
sub from_index
{
	return scalar grep {
		my ($shard) = /\bspans_(\d+)\b/;
		$workers[ $shard % $n_workers ]->safe_psql('postgres', "EXPLAIN (COSTS OFF) $_") =~ /Custom Scan \(IForest/
	} @_;
}

my (%queries, %how);

sub ask
{
	my (undef, $title, $query, $other) = @_;
	my $is_sent = !grep { !/^SELECT (count|sum|min|max|public\.iforest_\w+)\(|GROUP BY| LIMIT \d/ } sent($query);
	my $rewritten = $is_sent ? undef : Questions::by_service($title);

	$other //= $query =~ s/\bspans\b/every/gr;
	$how{$title} = $is_sent ? 'as it is' : $rewritten ? 'by service' : 'rows';
	$queries{$title} = $rewritten // $query;
	is($front->safe_psql('postgres', $query), $front->safe_psql('postgres', $other), "$title: the answer is that of a plain table");
	return if $how{$title} eq 'rows';
	my @sent = sent($queries{$title});
	cmp_ok(scalar @sent, '>', 0, "$title: is sent to shards, $how{$title}");
	my $n_from_index = from_index(@sent);
	# of many rows the planner chooses
	note("$title: " . (@sent - $n_from_index) . ' shards do not answer from the index') if $ENV{IFOREST_ROWS};
	is($n_from_index, scalar @sent, "$title: each shard answers from its index") or diag($sent[0]) unless $ENV{IFOREST_ROWS};
	is($front->safe_psql('postgres', $rewritten), $front->safe_psql('postgres', $other), "$title, by service: the answer is that of a plain table") if $rewritten;
}

my @first_rows = grep { $_->[1] =~ /^top / } @Questions::questions;
ask(@$_) for grep { $_->[1] !~ /^top / } @Questions::questions;
# costs tell first rows from all of them only where scans are not forbidden
unless ($ENV{IFOREST_ROWS})
{
	set_everywhere("enable_$_ = on", @workers) for @scans;
}
ask(@$_) for @first_rows;
my $by_rows = join ', ', sort grep { $how{$_} eq 'rows' } keys %how;
# of many rows, which are few in a shard's window, the planner may fetch these
$ENV{IFOREST_ROWS} ? note("rows are read for: $by_rows") : is($by_rows, 'grouping sets, the row that was longest', 'what reads rows');
is(join(', ', sort grep { $how{$_} eq 'by service' } keys %how), 'count of services, the last row of each service', 'what PostgreSQL sends once it is written by service');

# ---- times ----

if ($ENV{IFOREST_ROWS})
{
	my %times;
	my @timed = grep { ($how{ $_->[1] } // 'rows') ne 'rows' } @Questions::questions;
	for my $enable ('on', 'off')
	{
		set_everywhere("iforest.enable = $enable", @workers);
		for my $question (@timed)
		{
			my $rounds = $enable eq 'on' ? 7 : 3;
			my $output = $front->safe_psql('postgres', join("\n", '\timing on', '\o /dev/null', ("$queries{ $question->[1] };") x ($rounds + 1)));
			my (undef, @sorted) = $output =~ /^Time: ([\d.]+) ms/mg;
			@sorted = sort { $a <=> $b } @sorted;
			$times{$enable}{ $question->[1] } = $sorted[ @sorted / 2 ];
		}
	}
	diag sprintf '%-32s %-10s %9s %9s', "$n spans, $n_shards shards; ms", 'asked', 'iforest', 'B-trees';
	diag sprintf '%-32s %-10s %9.1f %9.1f', $_->[1], $how{ $_->[1] }, $times{on}{ $_->[1] }, $times{off}{ $_->[1] } for @timed;
}
$_->stop('fast') for $front, @workers;
done_testing();
