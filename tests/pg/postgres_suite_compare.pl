#!/usr/bin/perl
# Compares two runs of postgres_suite.sh and tells results from plans.
#
#   postgres_suite_compare.pl SUITES REFERENCE OTHER     SUITES: src/test of PostgreSQL's sources; folders of results
#
# psql repeats each statement before what came of it, so a difference belongs to the statement above it. It is of one of these kinds:
#
#   plan      of EXPLAIN, or of a function of the suite that calls it
#   listing   of \d and its like, or of a query that names a catalog: there are more objects, and other numbers of objects
#   refusal   a column was to be given a type that its iforest index cannot have
#   order     the same rows in another order, of a statement without ORDER BY
#   known     a line of postgres_suite.known says why: TEST, a tab, a regular expression of the statement, a tab, the reason
#   result    anything else. The exit code is 1 if there is any
#
# Shown in full are those of the kinds in SHOW: SHOW=result,catalog; the default is result.
use strict;
use warnings;
use FindBin;

my ($suites, $reference, $other) = @ARGV;
die "postgres_suite_compare.pl SUITES REFERENCE OTHER\n" unless defined $other;
my (%count, %tests, %shown);

sub lines_of {
	my ($path) = @_;
	open my $file, '<', $path or return;
	chomp(my @lines = <$file>);
	return @lines;
}

# [line of the test's source, line of output...] ...
sub blocks_of {
	my ($source, @lines) = @_;
	my @blocks = (['']);
	for my $line (@lines) {
		next if $line =~ /^\s*$/;
		if ($source->{$line} or !%$source && $line =~ /^(?:step \w+:|starting permutation:)/) {
			push @blocks, [$line];
		} else {
			push @{$blocks[-1]}, $line;
		}
	}
	return @blocks;
}

# The next line of source that both have, where output of one of them looks like source: what stands before it is output.
sub align {
	my ($before, $after) = @_;
	for my $distance (1 .. 100) {
		for my $n_before (0 .. $distance) {
			my ($b, $a) = ($before->[$n_before], $after->[$distance - $n_before]);
			next unless $b and $a and $b->[0] eq $a->[0];
			return ([map { @$_ } splice @$before, 0, $n_before], [map { @$_ } splice @$after, 0, $distance - $n_before]);
		}
	}
	return;
}

# the last statement of those that stand together, as only that one gave lines, or failed first
sub last_statement {
	my ($text) = @_;
	my @statements = grep { /\S/ } split /;[ \t]*(?:--[^\n]*)?\n|(?<=\\gexec)\n|\n(?=\\)|(?<=\n)(?=\\)/, $text;
	my $last = pop @statements // '';
	$last = (pop @statements) . ";\n$last" while @statements and (() = $last =~ /\$\w*\$/g) % 2;
	return $last;
}

my @known = map { [split /\t/] } grep { /\S/ && !/^#/ } lines_of("$FindBin::Bin/postgres_suite.known");

my $catalogs = qr/\bpg_(?:\w*class|index\w*|am\w*|op\w+|proc|depend|describe\w+|identify\w+|stat\w*|attribute|locks|relation\w*
	|get_indexdef|event_trigger\w*|namespace|extension|shdepend|collation)\b|regclass|information_schema/ix;

my $refusals = qr/^(?:ERROR|DETAIL):.*(?:an\ iforest\ index|access\ method\ "iforest"|iforest\ indexes\ need
	|cannot\ be\ a\ (?:value|by\ column)\b)/x;

# lines without what the width of a column and the number of rows make of them, without those of indexes, sorted
sub essence {
	my @lines = grep { !/\biforest_\d+_\w+|^-+(?:\+-+)*$|^\(\d+ rows?\)$/ } @_;
	s/\s+/ /g, s/^ | $//g for @lines;
	return join("\n", sort @lines);
}

sub kind_of {
	my ($test, $statement, $before, $after) = @_;
	return 'plan' if grep { /\bexplain|QUERY PLAN/i } $statement, @$before, @$after;
	return 'listing' if $statement =~ /^\s*\\d/;
	return 'listing' if join("\n", @$after) =~ /\biforest_\d+_/ and essence(@$before) eq essence(@$after);
	return 'refusal' if grep { $_ =~ $refusals } @$after;
	return 'order' if $statement !~ /order\s+by/i and join("\n", sort @$before) eq join("\n", sort @$after);
	for my $known (@known) {
		return 'known' if $known->[0] eq $test and "$statement\n" . join("\n", @$after) =~ /$known->[1]/;
	}
	return 'catalog' if ($statement =~ /^(?:step |starting )/ ? join("\n", $statement, @$before) : $statement) =~ $catalogs;
	return 'result';
}

sub note {
	my ($test, $statement, $before, $after) = @_;
	my $kind = kind_of($test, $statement, $before, $after);
	$count{$kind}++;
	$tests{$kind}{$test}++;
	push @{$shown{$kind}}, "== $test ($kind)\n$statement\n" . join('', map { "-$_\n" } @$before) .
		join('', map { "+$_\n" } @$after);
}

sub compare {
	my ($suite, $test, $source_path) = @_;
	my %source = map { $_ => 1 } $suite eq 'regress' ? lines_of($source_path) : ();
	my @before = lines_of("$reference/$suite/$test.out");
	my @after = lines_of("$other/$suite/$test.out");
	my @before_blocks = blocks_of(\%source, @before);
	my @after_blocks = blocks_of(\%source, @after);
	my $text = '';
	while (@before_blocks and @after_blocks) {
		my ($b, $a) = (shift @before_blocks, shift @after_blocks);
		$text .= shift(@$b) . "\n";
		shift @$a;
		if (@before_blocks and @after_blocks and $before_blocks[0][0] ne $after_blocks[0][0]) {
			my ($more_before, $more_after) = align(\@before_blocks, \@after_blocks) or last;
			push @$b, @$more_before;
			push @$a, @$more_after;
		}
		note($test, last_statement($text), $b, $a) if join("\n", @$b) ne join("\n", @$a);
		$text = '' if @$b or @$a;
	}
	note($test, 'the two have other statements at their end', [map { @$_ } @before_blocks], [map { @$_ } @after_blocks])
		if @before_blocks or @after_blocks;
}

for my $suite (['regress', 'sql', 'sql'], ['isolation', 'specs', 'spec']) {
	my ($name, $folder, $ending) = @$suite;
	my $n = 0;
	for my $path (sort glob "$reference/$name/*.out") {
		my ($test) = $path =~ m{([^/]+)\.out$};
		compare($name, $test, "$suites/$name/$folder/$test.$ending");
		$n++;
	}
	die "no results of the suite $name in $reference\n" unless $n;
	print "$name: $n tests\n";
}
for my $kind (qw(plan listing catalog order refusal known result)) {
	printf "%-8s %4d differences%s\n", $kind, $count{$kind} // 0,
		$count{$kind} ? ' in ' . join(', ', sort keys %{$tests{$kind}}) : '';
}
print "\n$_" for map { @{$shown{$_} // []} } split /,/, $ENV{SHOW} // 'result';
exit($count{result} ? 1 : 0);
