# ORDER BY ... LIMIT over foreign partitions: each is asked for its first rows, and the answer is that of all the rows in one table, with and
# without this extension. The servers are databases of one cluster.
use strict;
use warnings FATAL => 'all';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('rows');
plan skip_all => 'no extension postgres_fdw' unless -e $node->config_data('--pkglibdir') . '/postgres_fdw.so';
$node->init;
my $library = slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/ ? '$libdir/iforest' : 'iforest';
$node->append_conf('postgresql.conf', "autovacuum = off\nsession_preload_libraries = '$library'");
$node->start;

# ---- spans in three foreign tables and two local ones ----

my $columns = 'id integer, service text, ts timestamptz, dur bigint, cost numeric, name text';
my $n = 36000;

sub rows_of
{
	return "SELECT i, 'service ' || i % 6, to_timestamp(i * 7919::bigint % 10000), nullif(hashint8(i) & 1023, 7), round((hashint8(i + 9) & 4095) / 8.0, i % 3),
		CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'Ab' WHEN 2 THEN 'aB' WHEN 3 THEN 'b' ELSE 'a b' END FROM generate_series(1, $n) i WHERE $_[0]";
}

$node->safe_psql('postgres', "CREATE DATABASE shard_$_") for 0 .. 2;
for my $shard (0 .. 2)
{
	# columns lie in another order on the second
	my $order = $shard == 1 ? 'name text, dur bigint, ts timestamptz, id integer, cost numeric, service text' : $columns;
	$node->safe_psql("shard_$shard", "CREATE EXTENSION iforest; CREATE TABLE spans($order); INSERT INTO spans(id, service, ts, dur, cost, name) " . rows_of("i % 6 = $shard") . ";
		CREATE INDEX ON spans USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur'); CREATE INDEX ON spans (id)");
	$node->safe_psql("shard_$shard", 'VACUUM ANALYZE spans');
}
my ($host, $port, $user) = ($node->host, $node->port, $node->safe_psql('postgres', 'SELECT current_user'));
$node->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE EXTENSION iforest; CREATE TABLE spans($columns) PARTITION BY LIST (service);
	CREATE TABLE every($columns); INSERT INTO every " . rows_of('true'));
for my $shard (0 .. 2)
{
	$node->safe_psql('postgres', "CREATE SERVER shard_$shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'shard_$shard', use_remote_estimate 'true');
		CREATE USER MAPPING FOR PUBLIC SERVER shard_$shard OPTIONS (user '$user', password_required 'false')");
}
# a leaf, a leaf with a dropped column and others elsewhere, a leaf two levels down beside a local one, and a local one
$node->safe_psql('postgres', <<"END");
	CREATE FOREIGN TABLE spans_0 PARTITION OF spans FOR VALUES IN ('service 0') SERVER shard_0 OPTIONS (table_name 'spans');
	CREATE FOREIGN TABLE spans_1(gone integer, name text, dur bigint, service text, id integer, cost numeric, ts timestamptz) SERVER shard_1 OPTIONS (table_name 'spans');
	ALTER FOREIGN TABLE spans_1 DROP COLUMN gone;
	ALTER TABLE spans ATTACH PARTITION spans_1 FOR VALUES IN ('service 1');
	CREATE TABLE spans_by_id PARTITION OF spans FOR VALUES IN ('service 2', 'service 3') PARTITION BY LIST (service);
	CREATE FOREIGN TABLE spans_2 PARTITION OF spans_by_id FOR VALUES IN ('service 2') SERVER shard_2 OPTIONS (table_name 'spans');
	CREATE TABLE spans_3 PARTITION OF spans_by_id FOR VALUES IN ('service 3');
	CREATE TABLE spans_4 PARTITION OF spans DEFAULT;
	INSERT INTO spans SELECT * FROM every WHERE service NOT IN ('service 0', 'service 1', 'service 2');
	CREATE INDEX ON spans_3 USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur');
	CREATE INDEX ON spans_4 USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur');
END
$node->safe_psql('postgres', 'VACUUM ANALYZE spans_3; VACUUM ANALYZE spans_4; VACUUM ANALYZE every');

# What a query sends; and its answer, with the types of its columns.
sub sent
{
	return $node->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $_[0]") =~ /Remote SQL: (.*)/g;
}

sub is_limited
{
	my @sent = sent($_[0]);
	return @sent && !grep { !/ LIMIT \d/ } @sent;
}

# The answers of several queries, each with the types of its columns; rows are in the order in which they come.
sub answers
{
	my ($settings, $queries) = @_;
	return $node->safe_psql('postgres', join "\n", $settings, map { "$_\n\\gdesc\n$_;" } @$queries);
}

sub same_answers
{
	my ($title, @queries) = @_;
	my $of_every = answers('', [ map { s/\bspans\b/every/gr } @queries ]);
	is(answers('', \@queries), $of_every, "$title: the answers are those of one table");
	is(answers('SET iforest.enable = off;', \@queries), $of_every, "$title: and those of PostgreSQL's own plans");
}

# ---- what is sent ----

my @limited = (
	'SELECT id, service, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10',
	"SELECT id, dur FROM spans WHERE service = 'service 1' AND dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10",
	'SELECT id, dur FROM spans ORDER BY dur DESC NULLS FIRST, id DESC LIMIT 30',
	'SELECT id, dur FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 5 OFFSET 20',
	'SELECT id, dur FROM spans ORDER BY dur NULLS FIRST, id OFFSET 3 FETCH FIRST 4 ROWS ONLY',
	'SELECT * FROM spans WHERE ts > to_timestamp(500) ORDER BY cost, id DESC LIMIT 7',
	'SELECT dur + 1 AS more, upper(name) FROM spans ORDER BY abs(dur - 500), id LIMIT 7',
	'SELECT id, ts, id AS again FROM spans ORDER BY ts, again, id LIMIT 7',
	'SELECT service FROM spans ORDER BY dur * 2 DESC NULLS LAST, cost, id LIMIT 9',
	"SELECT id FROM spans WHERE service IN ('service 0', 'service 3') ORDER BY dur DESC, service, id LIMIT 9",
	'SELECT id, dur FROM spans ORDER BY cost, dur, service, id LIMIT 40 OFFSET NULL',
	'SELECT o.id, o.id + 1 AS n, length(o.service) FROM (SELECT id, service, dur FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 20) o WHERE o.dur % 2 = 0 ORDER BY 1',
	'WITH longest AS MATERIALIZED (SELECT id, dur FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 20) SELECT a.id, b.id AS other FROM longest a JOIN longest b ON a.dur = b.dur ORDER BY 1, 2',
	'SELECT count(*), sum(dur) FROM (SELECT dur FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 17) o',
	'(SELECT id FROM spans ORDER BY dur, id LIMIT 3) UNION ALL (SELECT id FROM spans ORDER BY dur DESC, id LIMIT 3) ORDER BY 1',
	'SELECT id, (SELECT count(*) FROM generate_series(1, s.id % 3 + 1)) AS n, random() < 2 AS t FROM spans s ORDER BY dur, id LIMIT 4',
	'SELECT id, id IN (SELECT generate_series(1, 100)) AS early FROM spans s ORDER BY dur DESC NULLS LAST, id LIMIT 5',
	'SELECT k, (SELECT id + k FROM spans ORDER BY dur DESC NULLS LAST, id OFFSET 2 LIMIT 1) AS n FROM generate_series(1, 3) k ORDER BY k',
	'SELECT s.id FROM spans s LEFT JOIN (SELECT DISTINCT id FROM every) e ON e.id = s.id ORDER BY s.dur DESC, s.id LIMIT 5',
	'SELECT 1 AS one FROM spans ORDER BY dur DESC LIMIT 4',
	'SELECT array[dur, id] AS both FROM spans ORDER BY array[dur, id] DESC LIMIT 5',
	'SELECT id, name FROM spans ORDER BY name USING ~>~, id LIMIT 5',
	'SELECT count(*) FROM every WHERE id IN (SELECT id FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 50)');
ok(is_limited($_), "first rows are asked for: $_") or diag(join "\n", sent($_)) for @limited;
same_answers('sent', @limited);
my @sent = sent($limited[3]);
is(join(' ', map { / LIMIT (\d+)/ } @sent), '25 25 25', 'each partition is asked for the rows that are skipped, too');
is(scalar sent($limited[1]), 1, 'a partition that a condition excludes is not asked');
like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $limited[0]"), qr/Custom Scan \(IForestTopK\)/, 'a local partition is answered from its index');

# ---- what is not ----

my @refused = (
	'SELECT id FROM spans ORDER BY dur, id',
	'SELECT id FROM spans ORDER BY dur, id LIMIT NULL',
	'SELECT id FROM spans ORDER BY dur, id LIMIT 0',
	'SELECT id FROM spans ORDER BY dur, id LIMIT 0 OFFSET 4',
	"SELECT id FROM spans ORDER BY dur, id LIMIT length(current_setting('DateStyle'))",
	'SELECT id FROM spans ORDER BY dur, id LIMIT 9223372036854775807 OFFSET 2',
	'SELECT dur FROM spans ORDER BY dur FETCH FIRST 5 ROWS WITH TIES',
	'SELECT DISTINCT dur FROM spans ORDER BY dur LIMIT 5',
	'SELECT DISTINCT ON (dur) dur, id FROM spans ORDER BY dur, id LIMIT 5',
	'SELECT dur, count(*) FROM spans GROUP BY dur ORDER BY dur LIMIT 5',
	'SELECT id, row_number() OVER (ORDER BY id) FROM spans ORDER BY dur, id LIMIT 5',
	'SELECT id, generate_series(1, 2) FROM spans ORDER BY dur, 1, 2 LIMIT 5',
	'SELECT id FROM spans WHERE dur > (SELECT avg(id) / 20 FROM every) ORDER BY dur, id LIMIT 5',
	'SELECT id FROM spans WHERE id IN (SELECT e.id FROM every e WHERE e.dur > 1000) ORDER BY dur, id LIMIT 5',
	'SELECT a.id FROM spans a JOIN spans b USING (id) ORDER BY a.dur, a.id LIMIT 5',
	'SELECT (s).id, s::text FROM spans s ORDER BY dur, id LIMIT 5',
	'SELECT id FROM spans s ORDER BY dur DESC NULLS LAST, s LIMIT 3',
	'SELECT k, (SELECT id FROM spans WHERE dur > k * 200 ORDER BY dur, id LIMIT 1) AS n FROM generate_series(1, 3) k ORDER BY k',
	'SELECT k, (SELECT id FROM spans ORDER BY abs(dur - k * 10), id LIMIT 1) AS n FROM generate_series(1, 3) k ORDER BY k',
	'SELECT id FROM spans ORDER BY dur, id LIMIT 50000');
ok(!is_limited($_), "rows are sent: $_") for @refused;
same_answers('rows', @refused);
is($node->safe_psql('postgres', 'SELECT tableoid::regclass, id FROM spans ORDER BY dur DESC, id LIMIT 1'), $node->safe_psql('postgres',
	'SET iforest.enable = off; SELECT tableoid::regclass, id FROM spans ORDER BY dur DESC, id LIMIT 1'), 'system columns');
for my $order ('tableoid::regclass::text, dur DESC NULLS LAST', 'ctid', 'tableoid')
{
	my $query = "SELECT id FROM spans ORDER BY $order, id LIMIT 7";
	is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', "SET iforest.enable = off; $query"), "by system columns: $order");
}
my $locks = 'BEGIN; SELECT id FROM spans ORDER BY dur, id LIMIT 3 FOR UPDATE; COMMIT';
is($node->safe_psql('postgres', $locks), $node->safe_psql('postgres', $locks =~ s/spans/every/r), 'rows that are locked');
for my $end ('LIMIT -1', 'LIMIT 1 OFFSET -1')
{
	my (undef, undef, $error) = $node->psql('postgres', "SELECT id FROM spans ORDER BY dur, id $end");
	like($error, qr/must not be negative/, "an error as ever: $end");
}
# an order that a server is not sent is made here, above all rows of each partition
my $local = 'SELECT id, name FROM spans ORDER BY name COLLATE "C" DESC NULLS LAST, id LIMIT 6';
unlike(join(' ', sent($local)), qr/LIMIT/, 'LIMIT stays above a sort here');
same_answers('a sort here', $local, 'SELECT id FROM spans ORDER BY to_char(ts, \'SS\'), id LIMIT 9', 'SELECT id FROM spans WHERE to_char(ts, \'SS\') < \'30\' ORDER BY dur, id LIMIT 9');
# a plan that reads partitions in their order ends in the first of them: no server is asked what its first rows cost
$node->safe_psql('shard_2', 'CREATE TABLE early AS SELECT * FROM spans; UPDATE early SET id = id - 40000; ANALYZE early');
$node->safe_psql('postgres', "CREATE TABLE by_id($columns) PARTITION BY RANGE (id); CREATE TABLE late PARTITION OF by_id FOR VALUES FROM (1) TO (40000); INSERT INTO late SELECT * FROM every;
	CREATE INDEX ON late(id); ANALYZE late; CREATE FOREIGN TABLE early PARTITION OF by_id FOR VALUES FROM (-40000) TO (1) SERVER shard_2");
$node->safe_psql('shard_2', "ALTER DATABASE shard_2 SET log_statement = 'all'");
my $begun = -s $node->logfile;
for my $order ('id DESC', 'id DESC, dur')
{
	my $query = "SELECT id, dur FROM by_id ORDER BY $order LIMIT 9";
	is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', $query =~ s/by_id/every/r), "the order of partitions: $order");
}
unlike(slurp_file($node->logfile, $begun), qr/EXPLAIN .* LIMIT/, 'no server is asked what its first rows cost');
like(join(' ', sent('SELECT id, dur FROM by_id ORDER BY dur DESC, id LIMIT 9')), qr/LIMIT 9/, 'another order');
like(slurp_file($node->logfile, $begun), qr/EXPLAIN .* LIMIT/, 'of which it is asked');
$node->safe_psql('shard_2', 'ALTER DATABASE shard_2 RESET log_statement');

# servers that have the order at hand begin at once: their rows are merged, and nothing else is planned
my $at_hand = "SELECT id, dur FROM spans WHERE service IN ('service 0', 'service 1', 'service 2') ORDER BY id LIMIT 20";
unlike($node->safe_psql('postgres', "EXPLAIN $at_hand"), qr/IForestCombine/, 'rows that servers have in order are merged');

# ---- parameters, cursors, partitions that come and go ----

my $prepared = "PREPARE first(integer, integer, text) AS SELECT id, dur FROM spans WHERE service >= \$3 ORDER BY dur DESC NULLS LAST, id LIMIT \$1 OFFSET \$2;\n";
my @executed = map { "EXECUTE first($_);\n" } "5, 2, 'service 1'", "3, 0, 'service 5'", "NULL, 35990, ''", "0, 0, ''", "4, NULL, 'service 0'";
my $executed = $node->safe_psql('postgres', $prepared =~ s/spans/every/r . join('', @executed));
for my $mode ('force_custom_plan', 'force_generic_plan')
{
	is($node->safe_psql('postgres', "SET plan_cache_mode = $mode; $prepared" . join('', @executed)), $executed, "prepared, $mode: the answers are those of one table");
}
my $explained = sub { $node->safe_psql('postgres', "SET plan_cache_mode = $_[0]; $prepared EXPLAIN (VERBOSE, COSTS OFF) $executed[0]") };
like($explained->('force_custom_plan'), qr/IForestCombine.*LIMIT 7/s, 'a parameter that is known is a number');
unlike($explained->('force_generic_plan'), qr/IForestCombine/, 'one that is not is none');
my $of_service = "PREPARE of(text) AS SELECT id, dur FROM spans WHERE service = \$1 ORDER BY dur DESC NULLS LAST, id LIMIT 5; SET plan_cache_mode = force_generic_plan;\n" . join '', map { "EXECUTE of('service $_');\n" } 0 .. 6;
is($node->safe_psql('postgres', $of_service), $node->safe_psql('postgres', $of_service =~ s/spans/every/r), 'partitions by a parameter of a generic plan');
my $goes = "PREPARE p AS SELECT id FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 5; EXECUTE p;\n";
is($node->safe_psql('postgres', "SET plan_cache_mode = force_generic_plan; $goes BEGIN; ALTER TABLE spans DETACH PARTITION spans_1; EXECUTE p; ROLLBACK; EXECUTE p"),
	$node->safe_psql('postgres', $goes =~ s/spans/every/r . "SELECT id FROM every WHERE service <> 'service 1' ORDER BY dur DESC NULLS LAST, id LIMIT 5; EXECUTE p"), 'partitions come and go');
my $cursor = "BEGIN; DECLARE c SCROLL CURSOR FOR $limited[3]; FETCH 3 FROM c; FETCH BACKWARD 2 FROM c; FETCH ALL FROM c; FETCH ABSOLUTE 1 FROM c; COMMIT";
is($node->safe_psql('postgres', $cursor), $node->safe_psql('postgres', $cursor =~ s/spans/every/r), 'a cursor');
my $again = 'SELECT x, o.* FROM generate_series(1, 3) x, LATERAL (SELECT id + x * 0 AS id FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 2) o ORDER BY 1, 2';
my $of_each = "SELECT k, o.* FROM unnest('{service 0, service 4}'::text[]) k, LATERAL (SELECT id, dur FROM spans WHERE service = k ORDER BY dur DESC NULLS LAST, id LIMIT 2) o ORDER BY 1, 2";
same_answers('rescans', $again, $of_each);

# ---- rows that are written ----

my $longest = '(SELECT id, dur FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 9) o';
for my $write ("INSERT INTO written SELECT * FROM $longest", "UPDATE written w SET dur = -o.dur FROM $longest WHERE o.id = w.id", "DELETE FROM written w USING $longest WHERE o.id = w.id")
{
	my @written = map { scalar $node->safe_psql('postgres', "CREATE TABLE written AS SELECT id, dur FROM every WHERE dur > 1000; $_; TABLE written ORDER BY id, dur; DROP TABLE written") } $write, $write =~ s/spans/every/r;
	is($written[0], $written[1], $write);
}

# ---- who may read ----

$node->safe_psql('postgres', "CREATE ROLE stranger; CREATE ROLE reader; GRANT SELECT (id, dur) ON spans TO reader;
	CREATE VIEW of_owner AS SELECT id, dur, service FROM spans; CREATE VIEW fence WITH (security_barrier) AS SELECT id, dur FROM spans WHERE dur < 900; GRANT SELECT ON of_owner, fence TO reader");
my $by_dur = 'SELECT id FROM spans ORDER BY dur DESC NULLS LAST, id LIMIT 3';
for my $denied ([ stranger => $by_dur ], [ reader => 'SELECT name FROM spans ORDER BY dur, id LIMIT 3' ], [ reader => 'SELECT id FROM spans ORDER BY cost, id LIMIT 3' ])
{
	my (undef, undef, $error) = $node->psql('postgres', "SET ROLE $denied->[0]; $denied->[1]");
	like($error, qr/permission denied for table spans/, "$denied->[0] may not: $denied->[1]");
}
is($node->safe_psql('postgres', "SET ROLE reader; $by_dur"), $node->safe_psql('postgres', $by_dur =~ s/spans/every/r), 'privileges on partitions are not needed');
unlike($node->safe_psql('postgres', "SET ROLE reader; EXPLAIN (VERBOSE) SELECT id FROM of_owner ORDER BY dur DESC NULLS LAST, id LIMIT 3"), qr/IForestCombine/, 'not through a view of another owner');
for my $view ('of_owner', 'fence')
{
	my $query = "SELECT id, dur FROM $view ORDER BY dur DESC NULLS LAST, id LIMIT 3";
	is($node->safe_psql('postgres', "SET ROLE reader; $query"), $node->safe_psql('postgres', "SET iforest.enable = off; $query"), "a view: $view");
}
$node->safe_psql('postgres', 'GRANT SELECT ON spans TO reader; ALTER TABLE spans ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON spans USING (id % 2 = 0)');
is($node->safe_psql('postgres', "SET ROLE reader; $by_dur"), $node->safe_psql('postgres', 'SELECT id FROM every WHERE id % 2 = 0 ORDER BY dur DESC NULLS LAST, id LIMIT 3'), 'row security');
$node->safe_psql('postgres', 'ALTER TABLE spans DISABLE ROW LEVEL SECURITY');

# ---- what chance asks ----

srand($ENV{IFOREST_SEED} // 1);
my @keys = ('id', 'dur', 'cost', 'ts', 'service', 'name COLLATE "C"', 'dur % 10', 'abs(cost - 100)', "coalesce(name, 'z') COLLATE \"C\"", 'cost::bigint', 'dur IS NULL', '-id');
my @conditions = ('true', 'dur > 300', "service <> 'service 1'", "service IN ('service 1', 'service 2', 'service 5')", 'dur IS NULL', 'name IS NOT NULL', 'ts < to_timestamp(4000) OR cost > 200', 'id % 7 = 2', 'false', "service = 'service 2' AND dur < 600");
my $one_of = sub { $_[ int rand @_ ] };
my @asked = map {
	my $order = join ', ', (map { $one_of->(@keys) . $one_of->('', ' DESC') . $one_of->('', ' NULLS FIRST', ' NULLS LAST') } 1 .. 1 + rand 3), 'id';
	my $outputs = join ', ', map { $one_of->('id', 'dur', 'cost', 'name', 'service', 'ts', 'cost * 2', 'dur + id', 'lower(name)', '1', '*') } 1 .. 1 + rand 3;
	"SELECT $outputs FROM spans WHERE " . $one_of->(@conditions) . " ORDER BY $order LIMIT " . $one_of->(1, 3, 10, 100, 1000) . $one_of->('', '', ' OFFSET 1', ' OFFSET 50');
} 1 .. $ENV{IFOREST_ROUNDS} // 150;
my $n_limited = () = $node->safe_psql('postgres', join ";\n", map { "EXPLAIN (COSTS OFF) $_" } @asked) =~ /IForestCombine/g;
cmp_ok($n_limited, '>', @asked / 3, "$n_limited of " . @asked . ' random queries ask for first rows');
same_answers('random', @asked);
$node->stop;
done_testing();
