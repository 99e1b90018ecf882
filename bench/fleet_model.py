#!/usr/bin/env python3
# A model of fleets that nobody has at hand: how long questions take on up to 100 workers with up to 10^12 spans.
#
#     bench/fleet_model.py [TABLE]      default: bench/results/2026-11-26_fleet_costs.txt
#
# TABLE has lines as tests/fleet/questions.pl prints them for fleets of several numbers of shards (IFOREST_ROWS, IFOREST_SHARDS): processor time of
# the coordinator and of all shards for each question, tasks, rows and bytes. Processor time hardly hangs on what else the machine does. Two lines are fitted
# to it, each by least squares of relative errors, without negative coefficients:
#
#   coordinator   = a question + tasks + rows that it receives
#   shards        = tasks + groups: series times buckets
#
# Of the table's first number of spans, the numbers of shards of FITTED and the questions that are marked below are fitted; all other lines check them. Then it
# extrapolates. What is assumed beyond the lines:
#
#   - A group's cost grows with the levels of nodes, which is the logarithm of a series' rows, at 300 rows a leaf page and a fan-out of 60.
#   - Nodes are in memory. Of the two leaf pages at a bucket's ends, so many miss it as the index (5.3 bytes a span, as at 100 million) exceeds the
#     MEMORY_BYTES of its worker; a miss takes MISS_MS.
#   - A worker has CORES cores, and as many shards. A task takes its time times a lognormal factor (SIGMA), and one in a thousand waits STALL_MS more. A
#     question waits for its slowest worker. Sessions between servers are kept (citus.max_cached_conns_per_worker).
#   - The coordinator's work is not overlapped with the waiting. The network brings 10 Gbit/s after a round trip.
#   - Shards hold equally many spans, and services are of equal size.
import math
import os
import random
import re
import statistics
import sys

ROUND_TRIP_MS, BYTES_PER_MS = 0.3, 1250000
MISS_MS, MEMORY_BYTES, BYTES_PER_SPAN = 0.1, 64e9, 5.3
CORES = SHARDS_PER_WORKER = 16
SIGMA, STALL_RATE, STALL_MS = 0.4, 0.001, 50
SERVICES, MEASURED_SERVICES, ROUNDS = 4800, 24, 400
DAYS = 365  # that a fleet which is sharded by time holds
# as measured for count, sum and max of an hour
BYTES_PER_ROW = 28
FITTED = (8, 16, 64)

# question of questions.pl: if all services are asked, buckets, and if it is fitted
MEASURED = {
    'whole table': (True, 1, True),
    'by service': (True, 1, True),
    'by hour': (True, 96, True),
    'by service and hour': (True, 96, True),
    '192 buckets': (True, 192, True),
    '1920 buckets': (True, 1920, False),
    'one service by hour': (False, 96, False),
    'two levels': (True, 96, False),
}

# name, if the service is among the groups, buckets, if one service alone is asked
QUESTIONS = [
    ('whole table', False, 1, False),
    ('by service', True, 1, False),
    ('by hour of four days', False, 96, False),
    ('1920 buckets of four days', False, 1920, False),
    ('by service and hour of four days', True, 96, False),
    ('one service by hour', False, 96, True),
]


def read_table(path):
    """Returns (spans, shards, question, coordinator ms, shards ms, tasks, rows, bytes) for each line."""
    lines, spans, shards = [], 0, 0
    for line in open(path):
        head = re.search(r'(\d+) spans, (\d+) shards; ms', line)
        cells = re.match(r'# (.{36}) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\d+)$', line)
        if head:
            spans, shards = int(head.group(1)), int(head.group(2))
        elif cells:
            lines.append((spans, shards, cells.group(1).strip()) + tuple(float(cells.group(i)) for i in range(4, 9)))
    return lines


def solve(matrix, values):
    """Solves a small linear system."""
    n = len(values)
    rows = [row[:] + [value] for row, value in zip(matrix, values)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def fit(features, values):
    """Least squares of relative errors; features whose coefficient would be negative get 0."""
    used = list(range(len(features[0])))
    while True:
        scaled = [[row[i] / value for i in used] for row, value in zip(features, values)]
        matrix = [[sum(row[i] * row[k] for row in scaled) for k in range(len(used))] for i in range(len(used))]
        found = solve(matrix, [sum(row[i] for row in scaled) for i in range(len(used))])
        if min(found) >= 0:
            return [found[used.index(i)] if i in used else 0.0 for i in range(len(features[0]))]
        del used[found.index(min(found))]


def times(coefficients, features):
    return sum(a * b for a, b in zip(coefficients, features))


def levels(rows_of_series):
    return 1 + math.log(max(rows_of_series / 300, 2), 60)


class Model:
    def __init__(self, lines):
        self.lines = [line for line in lines if line[2] in MEASURED]
        self.spans = self.lines[0][0]
        fitted = [line for line in self.lines if self.is_fitted(line)]
        self.coordinator = fit([self.of_coordinator(*line[5:7]) for line in fitted], [line[3] for line in fitted])
        self.shards = fit([self.of_shards(line) for line in fitted], [line[4] for line in fitted])
        self.levels = levels(self.spans / MEASURED_SERVICES)

    def is_fitted(self, line):
        return line[0] == self.spans and line[1] in FITTED and MEASURED[line[2]][2]

    @staticmethod
    def of_coordinator(tasks, rows):
        return [1, tasks, rows]

    @staticmethod
    def of_shards(line):
        all_services, buckets, _ = MEASURED[line[2]]
        return [line[5], (MEASURED_SERVICES if all_services else 1) * buckets]

    def print_check(self):
        print('coordinator: %.3f ms, %.4f a task, %.5f a row' % tuple(self.coordinator))
        print('shards: %.4f ms a task, %.5f a group' % tuple(self.shards))
        print('\n| spans | shards | question | | coordinator ms | model | shards ms | model |')
        print('|---|---|---|---|---|---|---|---|')
        for line in sorted(self.lines, key=lambda line: (self.is_fitted(line), line[0], line[1])):
            coordinator, shards = times(self.coordinator, self.of_coordinator(*line[5:7])), times(self.shards, self.of_shards(line))
            print('| %d | %d | %s | %s | %.1f | %.1f | %.1f | %.1f |' % (line[0], line[1], line[2], 'fitted' if self.is_fitted(line) else 'held out', line[3], coordinator, line[4], shards))

    def question(self, sharded_by, spans, workers, by_service, buckets, one_service):
        """Returns ms, those of the slowest worker, of the coordinator, and bytes, of one run."""
        shards = workers * SHARDS_PER_WORKER
        tasks, series = shards, SERVICES
        if sharded_by == 'service':
            series = max(1, SERVICES // shards)
            tasks = 1 if one_service else shards
        elif sharded_by == 'time' and buckets > 1:
            # four days of them
            tasks = max(1, math.ceil(shards * 4 / DAYS))
        if one_service:
            series = 1
        # a shard of a stretch of time has but its part of the buckets
        buckets_of_shard = max(1, buckets // tasks) if sharded_by == 'time' else buckets
        rows = tasks * (series if by_service else 1) * buckets_of_shard
        rows_of_series = spans / SERVICES / (1 if sharded_by == 'service' else shards)
        task = self.shards[0] + self.shards[1] * series * buckets_of_shard * levels(rows_of_series) / self.levels
        missing = max(0, 1 - MEMORY_BYTES / (spans / workers * BYTES_PER_SPAN))
        # the whole table is read from the highest nodes
        task += (2 * series * (buckets_of_shard + 1) if buckets > 1 else 0) * missing * MISS_MS
        slowest = 0.0
        for _ in range(min(workers, tasks)):
            cores = [0.0] * CORES
            for _ in range(math.ceil(tasks / workers)):
                cores[cores.index(min(cores))] += task * random.lognormvariate(0, SIGMA) + (STALL_MS if random.random() < STALL_RATE else 0)
            slowest = max(slowest, max(cores))
        n_bytes = rows * BYTES_PER_ROW
        coordinator = times(self.coordinator, self.of_coordinator(tasks, rows))
        return coordinator + ROUND_TRIP_MS + slowest + n_bytes / BYTES_PER_MS, slowest, coordinator, n_bytes


def print_fleets(model, fleets):
    print('\n| sharded by | workers | spans | question | median ms | 99th percentile | slowest worker | coordinator | sent to it |')
    print('|---|---|---|---|---|---|---|---|---|')
    for sharded_by, workers, spans in fleets:
        for name, *question in QUESTIONS:
            runs = [model.question(sharded_by, spans, workers, *question) for _ in range(ROUNDS)]
            totals = sorted(run[0] for run in runs)
            print('| %s | %d | 10^%d | %s | %.1f | %.1f | %.1f | %.1f | %.1f KB |' % (
                sharded_by, workers, round(math.log10(spans)), name, statistics.median(totals), totals[int(len(totals) * 0.99)],
                statistics.median(run[1] for run in runs), runs[0][2], runs[0][3] / 1000))


def main():
    random.seed(1)
    here = os.path.dirname(os.path.abspath(__file__))
    model = Model(read_table(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, 'results', '2026-11-26_fleet_costs.txt')))
    model.print_check()
    print_fleets(model, [('service', 4, 10**9), ('service', 20, 10**11)] + [(by, 100, 10**12) for by in ('service', 'trace', 'time')])


if __name__ == '__main__':
    main()
