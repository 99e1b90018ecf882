#!/usr/bin/env python3
# A model of fleets that nobody has at hand: how long questions take on up to 100 workers with up to 10^12 spans.
#
#     bench/fleet_model.py
#
# What is assumed. The costs are those of a coordinator and two workers with 8 shards on one machine of 2 cores, with 3 million spans of 24 services: the whole
# table 1.6 ms, by hour 8.4, by service and hour 24, 1920 buckets 79 (docs/postgres_citus.md; the machine was never quite idle).
#
#   - A shard takes BASE_MS, PER_LEVEL_MS for each level of nodes at both ends of each series, and PER_BUCKET_MS for each bucket of each series. Levels grow with
#     the logarithm of the shard's rows, at 300 rows a leaf and a fan-out of 60.
#     That is what an hour costs; buckets of less than a leaf page of spans, as the 1920 of those four days, cost a fifth of it.
#   - Nodes are in memory. Of the two leaf pages at a bucket's ends, so many miss it as the index (8 bytes a span) exceeds the MEMORY_BYTES of its worker; a miss
#     takes MISS_MS.
#   - A worker has CORES cores and SHARDS_PER_WORKER shards. A task takes its time times a lognormal factor (SIGMA), and one in a thousand waits STALL_MS more.
#     A question waits for its slowest worker.
#   - The coordinator plans (PLAN_MS, and PER_TASK_MS for each shard), and merges PER_ROW_MS for each row of each shard. These are not overlapped with the waiting.
#     The network brings BYTES_PER_ROW at 10 Gbit/s after a round trip.
#   - Shards hold equally many spans, and services are of equal size.
import math
import random
import statistics

PLAN_MS, PER_TASK_MS = 0.5, 0.06
BASE_MS, PER_LEVEL_MS, PER_BUCKET_MS = 0.1, 0.004, 0.008
PER_ROW_MS, BYTES_PER_ROW = 0.0013, 60
ROUND_TRIP_MS, BYTES_PER_MS = 0.3, 1250000
MISS_MS, MEMORY_BYTES = 0.1, 64e9
CORES, SHARDS_PER_WORKER = 16, 16
SIGMA, STALL_RATE, STALL_MS = 0.4, 0.001, 50
SERVICES, ROUNDS = 4800, 400

# name, groups of a shard for its services (False: times one), buckets, and if one shard alone is asked
QUESTIONS = [
    ('whole table', False, 1, False),
    ('by service', True, 1, False),
    ('by hour of four days', False, 96, False),
    ('1920 buckets', False, 1920, False),
    ('by service and hour', True, 96, False),
    ('one service by hour', False, 96, True),
]


def shard_ms(rows, series, buckets):
    levels = max(1, math.ceil(math.log(max(rows / 300, 2), 60)))
    missing = max(0, 1 - MEMORY_BYTES / (rows * SHARDS_PER_WORKER * 8))
    # the whole table is read from the highest nodes
    leaves = 0 if buckets == 1 else 2 * series * (buckets + 1)
    return BASE_MS + 2 * series * levels * PER_LEVEL_MS + series * buckets * PER_BUCKET_MS + leaves * missing * MISS_MS


def question_ms(spans, workers, by_service, buckets, one_shard):
    shards = workers * SHARDS_PER_WORKER
    series = 1 if one_shard else max(1, math.ceil(SERVICES / shards))
    asked = 1 if one_shard else shards
    groups = (series if by_service else 1) * buckets
    base = shard_ms(spans / shards, series, buckets)
    slowest = 0.0
    for _ in range(1 if one_shard else workers):
        cores = [0.0] * CORES
        for _ in range(min(asked, SHARDS_PER_WORKER)):
            task = base * random.lognormvariate(0, SIGMA) + (STALL_MS if random.random() < STALL_RATE else 0)
            cores[cores.index(min(cores))] += task
        slowest = max(slowest, max(cores))
    result_rows = asked * groups
    merge = result_rows * PER_ROW_MS
    total = PLAN_MS + asked * PER_TASK_MS + ROUND_TRIP_MS + slowest + result_rows * BYTES_PER_ROW / BYTES_PER_MS + merge
    return total, slowest, merge, result_rows * BYTES_PER_ROW


def main():
    random.seed(1)
    print('| workers | spans | question | median ms | 99th percentile | slowest shard | merge | sent to the coordinator |')
    print('|---|---|---|---|---|---|---|---|')
    for workers, spans in ((4, 10**9), (20, 10**11), (100, 10**12)):
        for name, by_service, buckets, one_shard in QUESTIONS:
            runs = [question_ms(spans, workers, by_service, buckets, one_shard) for _ in range(ROUNDS)]
            totals = sorted(run[0] for run in runs)
            print('| %d | 10^%d | %s | %.1f | %.1f | %.1f | %.1f | %.1f KB |' % (
                workers, round(math.log10(spans)), name, statistics.median(totals), totals[int(len(totals) * 0.99)],
                statistics.median(run[1] for run in runs), runs[0][2], runs[0][3] / 1000))


if __name__ == '__main__':
    main()
