# Questions to a distributed table: which its shards answer from their indexes, and that the answers are those of a plain table.
#
# IFOREST_WORKERS and IFOREST_SHARDS make another fleet than two workers with 8 shards. With IFOREST_ROWS set it also prints a table of
# times: of each question with the indexes of the shards and, by iforest.enable = off, with covering B-trees (IFOREST_BTREES=0: without); and of processor time with the indexes.
use strict;
use warnings FATAL => 'all';
use FindBin;
use lib $FindBin::Bin;
use Fleet;
use Questions;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

plan skip_all => Fleet::missing() if Fleet::missing();

my $n = $ENV{IFOREST_ROWS} // 60000;
my ($n_workers, $n_shards, $has_btrees) = ($ENV{IFOREST_WORKERS} // 2, $ENV{IFOREST_SHARDS} // 8, $ENV{IFOREST_BTREES} // 1);
my @questions = @Questions::questions;

# at a few rows a shard rows would often be as cheap: seen is that the index can answer
my @small = $ENV{IFOREST_ROWS} ? ('shared_buffers = 512MB', 'max_wal_size = 4GB', 'citus.max_cached_conns_per_worker = 16') : map { "enable_$_ = off" } qw(seqscan indexscan indexonlyscan bitmapscan);
my ($front, @workers) = start_fleet($n_workers, @small);
my $loaded = Time::HiRes::time();
make_spans($front, $n, $n_shards);
note(sprintf('%s spans loaded and indexed in %.1f s; Citus %s', $n, Time::HiRes::time() - $loaded, $front->safe_psql('postgres', 'SELECT citus_version()')));

# Compares the answer with the other.
sub is_answered
{
	my ($question, $title) = @_;
	my $other = $question->[3] // $question->[2] =~ s/\bspans\b/every/gr;
	is($front->safe_psql('postgres', $question->[2]), $front->safe_psql('postgres', $other), $title);
}

for my $question (@questions)
{
	my ($how, $title, $query) = @$question;
	if ($how eq 'refused')
	{
		my ($code, undef, $error) = $front->psql('postgres', $query);
		isnt($code, 0, "$title: refused by Citus");
		next;
	}
	my ($settings, $asked) = Questions::parts_of($query);
	my $plan = $front->safe_psql('postgres', "${settings}EXPLAIN (COSTS OFF) $asked");
	my @tasks = split /->  Task\n/, $plan;
	@tasks = grep { /_\d{6}\b/ } @tasks;
	cmp_ok(scalar @tasks, '>', 0, "$title: is sent to shards");
	my @others = grep { !/Custom Scan \(IForest/ } @tasks;
	# of many rows the planner chooses; of a narrow window in many buckets it may take a B-tree
	note("$title: " . @others . ' shards do not answer from the index') if $ENV{IFOREST_ROWS};
	is(scalar(@others), 0, "$title: each shard answers from its index") or diag($others[0]) unless $ENV{IFOREST_ROWS};
	is_answered($question, "$title: the answer is that of a plain table");
}

# Returns the times of a question in milliseconds, ascending, of some runs in one session.
sub times_of
{
	my ($question, $rounds) = @_;
	my ($settings, $query) = Questions::parts_of($question);
	my $output = $front->safe_psql('postgres', join("\n", $settings, '\timing on', '\o /dev/null', ("$query;") x ($rounds + 1)));
	my (undef, @times) = $output =~ /^Time: ([\d.]+) ms/mg;
	return sort { $a <=> $b } @times;
}

# Returns what a question costs with the indexes: processor time on the coordinator and of all shards in milliseconds, tasks, rows and bytes sent.
sub costs_of
{
	my ($question, $milliseconds) = @_;
	my ($settings, $query) = Questions::parts_of($question);
	my $rounds = int(min(200, max(10, 500 / $milliseconds)));
	my @before = map { processor_time(@$_) } [$front], \@workers;
	times_of($question, $rounds);
	my @after = map { processor_time(@$_) } [$front], \@workers;
	# Citus has no EXPLAIN ANALYZE of states that travel as text
	my (undef, $plan) = $front->psql('postgres', "${settings}EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
	my ($tasks) = $plan =~ /Task Count: (\d+)/;
	my ($rows) = $plan =~ /Citus Adaptive\) \(actual rows=(\d+)/;
	my ($bytes, $unit) = $plan =~ /Tuple data received from nodes: (\d+) (bytes|kB|MB)/;
	$bytes *= { bytes => 1, kB => 1024, MB => 1024 * 1024 }->{$unit} if $unit;
	return (map({ sprintf '%.2f', ($after[$_] - $before[$_]) / ($rounds + 1) } 0, 1), map { $_ // '' } $tasks, $rows, $bytes);
}

if ($ENV{IFOREST_ROWS})
{
	my (%times, %costs);
	my @timed = grep { $_->[0] ne 'refused' } @questions;
	for my $enable ('on', $has_btrees ? 'off' : ())
	{
		set_everywhere("iforest.enable = $enable", $front, @workers);
		for my $question (@timed)
		{
			my @sorted = times_of($question->[2], $enable eq 'on' ? 9 : 3);
			$times{$enable}{ $question->[1] } = $sorted[ @sorted / 2 ];
			$costs{ $question->[1] } = [ costs_of($question->[2], $sorted[ @sorted / 2 ]) ] if $enable eq 'on';
		}
	}
	diag sprintf '%-36s %9s %9s %12s %9s %6s %8s %9s', "$n spans, $n_shards shards; ms", 'iforest', 'B-trees', 'coordinator', 'shards', 'tasks', 'rows', 'bytes';
	diag sprintf '%-36s %9.1f %9.1f %12s %9s %6s %8s %9s', $_->[1], $times{on}{ $_->[1] }, $times{off}{ $_->[1] } // 0, @{ $costs{ $_->[1] } } for @timed;
}
else
{
	# the indexes off, on shards alone or everywhere: states are then made of rows
	for my $nodes ([@workers], [ $front, @workers ])
	{
		set_everywhere('iforest.enable = off', @$nodes);
		# by iforest.enable = off on the coordinator nothing is approximate
		my @asked = grep { $_->[0] eq 'index' && (@$nodes == @workers || $_->[2] !~ /^SET/) } @questions;
		is_answered($_, "$_->[1]: by rows, on " . @$nodes . ' nodes') for @asked;
		set_everywhere('iforest.enable = on', @$nodes);
	}
}
stop_fleet($front, @workers);
done_testing();
