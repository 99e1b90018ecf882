# What the TAP tests share: a replica, a table of spans with its index, work upon it, and questions that must be answered alike.
package IforestTest;
use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
our @EXPORT = qw(replica_of make_spans add_spans answers same_as_table index_is_whole write_file start_pgbench);

# A replica of all that the node has by now, with lines of postgresql.conf.
sub replica_of
{
	my ($primary, $settings) = @_;
	my $replica = PostgreSQL::Test::Cluster->new('replica');

	$primary->backup('base');
	$replica->init_from_backup($primary, 'base', has_streaming => 1);
	$replica->append_conf('postgresql.conf', $settings);
	$replica->start;
	$primary->wait_for_catchup($replica);
	return $replica;
}

sub make_spans
{
	my ($node, $table, $options) = @_;
	$options //= '';
	$node->safe_psql('postgres', "CREATE EXTENSION IF NOT EXISTS iforest");
	$node->safe_psql('postgres', "CREATE $options TABLE $table(id integer, service text, ts timestamptz, dur bigint)");
	$node->safe_psql('postgres', "CREATE INDEX ${table}_if ON $table USING iforest (service, ts) INCLUDE (dur)
		WITH (duration = 'dur', background_merge = off, pending_pages = 2)");
}

sub add_spans
{
	my ($node, $table, $first, $last) = @_;
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, CASE WHEN i % 40 > 0 THEN 'service ' || i % 6 END,
		CASE WHEN i % 30 > 0 THEN to_timestamp(i * 7919::bigint % 10000) END, i % 1000 FROM generate_series($first, $last) i");
}

my @questions = (
	"service = 'service 1' AND ts >= to_timestamp(1000) AND ts < to_timestamp(6000)",
	"ts BETWEEN to_timestamp(2000) AND to_timestamp(2300)",
	"service IN ('service 2', 'service 5') AND ts > to_timestamp(9000)",
	"service IS NULL", "service = 'service 3' AND ts IS NULL");

# The answers to all questions, by the index or without it, as text.
sub answers
{
	my ($node, $table, $with_index) = @_;
	my ($index, $table_scan) = $with_index ? ('on', 'off') : ('off', 'on');
	my $asked = join ' UNION ALL ', map { "SELECT $_, count(*), sum(id), sum(dur) FROM $table WHERE $questions[$_]" } 0 .. $#questions;
	return $node->safe_psql('postgres', "SET enable_indexscan = $index; SET enable_bitmapscan = $index; SET enable_seqscan = $table_scan; $asked ORDER BY 1");
}

sub same_as_table
{
	my ($node, $table, $when) = @_;
	is(answers($node, $table, 1), answers($node, $table, 0), "$when: the index answers as the table does");
}

sub index_is_whole
{
	my ($node, $index, $when) = @_;
	my ($code, $output, $errors) = $node->psql('postgres', "SELECT iforest_check('$index', true)");
	is($errors, '', "$when: iforest_check finds nothing wrong");
}

sub write_file
{
	my ($path, $text) = @_;
	PostgreSQL::Test::Utils::append_to_file($path, $text);
	return $path;
}

# Two clients that each run a script so many times, or until the server goes; what they say goes to SCRIPT.log.
sub start_pgbench
{
	my ($node, $script, $times) = @_;
	return IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-t', $times, '-f', $script, $node->connstr('postgres') ],
		'<', '/dev/null', '>', "$script.log", '2>&1');
}

1;
