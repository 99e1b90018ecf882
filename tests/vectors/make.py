#!/usr/bin/env python3
"""Writes tests/vectors/vectors.txt: tables, questions, and answers found by looking at every row.

    tests/vectors/make.py >tests/vectors/vectors.txt       tests/vectors/check.sh tells whether that is what stands there

Knows nothing of the index: each answer is reckoned from the definitions, in integers without bounds. README.md explains
the format.
"""
from fractions import Fraction
from math import ceil, copysign, floor, sqrt

LEAST, GREATEST = -2**63, 2**63 - 1
VALUES = ("dur", "size")
MEASURED = "dur"  # has a histogram with these bounds, and products with the time
BOUNDS = (LEAST, -1, 0, 500, GREATEST)
ABSENT, OPEN = object(), None     # an argument that is not given; a bound that is not there


# ---- tables ----

class Dice:
    """The same numbers everywhere."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


class Table:
    """where: which rows the index has, as a test of a row, and in SQL; end: the column of ends, which takes the place of dur."""

    def __init__(self, name, by, rows, where=(lambda row: True, None), end=None):
        self.name, self.by, self.end = name, by, end
        self.rows = [dict(zip(("id",) + self.names + ("ts",) + VALUES, (i + 1,) + row)) for i, row in enumerate(rows)]
        self.condition = where[1]
        self.indexed = [row for row in self.rows if where[0](row)]

    @property
    def names(self):
        return tuple(name for name, _ in self.by)

    def write(self):
        print("table", self.name, *(f"{name}:{kind}" for name, kind in self.by))
        if self.condition:
            print("index where", self.condition)
        if self.end:
            print("index end", self.end)
        for row in self.rows:
            if self.end and row["ts"] is not None and row["dur"] is not None:
                row = dict(row, dur=row["ts"] + row["dur"])
            print("row", "|".join(shown(value) for value in row.values()))

    def called(self, columns):
        """What columns of the duration are called."""
        return [column.replace("dur", self.end) if self.end else column for column in columns]


def small():
    return Table("spans", (("track", "text"),), [
        ("main", 0, 40, 7), ("main", 5, 10, None), ("main", 60, 25, -3), ("io", 20, 70, 7), ("io", 20, 70, 1),
        (None, 10, 5, 2), (None, 10, None, 4), ("main", 10, 0, 0), ("main", 10, -1, 5), ("io", 49, -2**40, 6),
        ("main", -30, 35, 8), ("io", -7, 7, -9), ("main", None, 12, 3), ("io", None, None, None), ("late", 95, 5, 10),
        ("late", 99, 1, 10), ("late", 100, 3, 10), ("", 50, 0, None), ("main", 60, 25, -3), ("io", -1, 1, 2),
        ("void", None, 90, 1), ("none", 30, None, None), ("main", 5, 40, 6), (None, -30, 200, 6)])


def pairs():
    dice = Dice(7)
    rows = []
    for _ in range(70):
        service = ("api", "web", None, "a b'c")[dice.below(4)]
        status = (200, 404, None, -1)[dice.below(4)]
        time = None if dice.below(20) == 0 else dice.below(1000) - 300
        duration = (None, 0, -3, dice.below(50), dice.below(50), dice.below(400))[dice.below(6)]
        rows.append((service, status, time, duration, None if dice.below(9) == 0 else dice.below(40) - 20))
    return Table("pairs", (("service", "text"), ("status", "integer")), rows)


def steady():
    dice = Dice(11)
    rows = [(i * 10 + dice.below(10) - 500, dice.below(30), dice.below(9)) for i in range(150)]
    return Table("steady", (), rows + [(-5000, 20000, 1), (None, 5, 5)])


def edges():
    return Table("edges", (), [
        (LEAST, 5, 1), (LEAST, GREATEST, 2), (LEAST + 1, 0, GREATEST), (-1, 1, LEAST), (0, GREATEST, 0), (1, 1, GREATEST),
        (GREATEST - 7, 100, 3), (GREATEST - 1, LEAST, 4), (GREATEST - 1, None, 4), (GREATEST, 9, 6), (GREATEST, -1, 7)])


def empty():
    return Table("no_rows", (), [])


def bad():
    """The same rows as those of pairs; the index has some of them."""
    rows = [tuple(row.values())[1:] for row in pairs().rows]
    return Table("bad", (("service", "text"), ("status", "integer")), rows,
                 where=(lambda row: (row["status"] or 0) >= 400 or (row["size"] or 0) < 0, "status >= 400 OR size < 0"))


def ends():
    """The same spans as those of the first table, and of pairs, with ends; without a time there is no duration."""
    rows = [(row["track"], row["ts"], None if row["ts"] is None else row["dur"], row["size"]) for row in small().rows]
    rows += [(row["service"], row["ts"], None if row["ts"] is None else row["dur"], row["size"]) for row in pairs().rows]
    return Table("ends", (("track", "text"),), rows, end="fin")


# ---- buckets ----

class Question:
    """Which window, cut into which buckets; where: a test of a row, and the SQL that says the same."""

    def __init__(self, table, t0=ABSENT, t1=ABSENT, n=ABSENT, step=ABSENT, origin=ABSENT, fill=ABSENT, keep=None, where=None):
        self.table, self.keep = table, table.names if keep is None else keep
        self.arguments = [("t0", t0), ("t1", t1), ("n", n), ("step", step), ("origin", origin), ("fill", fill)]
        self.has_null = any(value is None for _, value in self.arguments)
        self.t0, self.t1 = (OPEN if bound is ABSENT else bound for bound in (t0, t1))
        self.n = 1 if n is ABSENT else n
        self.step = None if step is ABSENT else step
        self.origin = 0 if origin is ABSENT else origin
        self.fill = "none" if fill is ABSENT else fill
        self.is_everything = t0 is ABSENT and t1 is ABSENT and step is ABSENT
        self.where, self.condition = where if where else (lambda row: True, None)

    def is_empty(self):
        """Can no time lie in it?"""
        least = LEAST if self.t0 is OPEN else self.t0
        return self.has_null or self.t1 is not OPEN and least >= self.t1

    def holds(self, time):
        if time is None:
            return self.is_everything
        return (self.t0 is OPEN or time >= self.t0) and (self.t1 is OPEN or time < self.t1)

    def bounds(self, bucket):
        """Those that it is said to have; OPEN where there is none."""
        if self.step is not None:
            return self.origin + bucket * self.step, self.origin + (bucket + 1) * self.step
        if self.t0 is OPEN or self.t1 is OPEN:
            return self.t0, self.t1
        width = self.t1 - self.t0
        return self.t0 + bucket * width // self.n, self.t0 + (bucket + 1) * width // self.n

    def cut(self, bucket):
        """Those that the rows in it have."""
        start, end = self.bounds(bucket)
        if self.t0 is not OPEN and (start is OPEN or start < self.t0):
            start = self.t0
        if end is not OPEN and end > GREATEST:
            end = OPEN
        if self.t1 is not OPEN and (end is OPEN or end > self.t1):
            end = self.t1
        return start, end

    def bucket_of(self, time):
        if self.step is not None:
            return (time - self.origin) // self.step
        return next((i for i in range(self.n) if self.bounds(i)[0] <= time < self.bounds(i)[1]), None) if self.n > 1 else 0

    def all_buckets(self):
        if self.step is not None:
            return range(self.bucket_of(self.t0), self.bucket_of(self.t1 - 1) + 1)
        return range(self.n)

    def series(self):
        """Each with its rows."""
        found = {} if self.keep else {(): []}
        for row in self.table.indexed:
            if self.where(row):
                found.setdefault(tuple(row[name] for name in self.keep), []).append(row)
        return found

    def head(self, key, bucket):
        start, end = (bound if bound is OPEN else min(max(bound, LEAST), GREATEST) for bound in self.bounds(bucket))
        return dict(zip(self.keep, key), bucket=bucket, bucket_start=start, bucket_end=end)


# ---- windows and buckets ----

def order(row):
    """Ties: the earliest, then the lowest id; without a time after all that have one."""
    return row["ts"] is None, row["ts"] or 0, row["id"]


def real(fraction):
    return None if fraction is None else float(fraction)


def of_value(v, rows):
    """Columns of value v."""
    having = [row for row in rows if row[v] is not None]
    timed = sorted((row for row in having if row["ts"] is not None), key=order)
    least = min(having, key=lambda row: (row[v], order(row)), default={})
    greatest = min(having, key=lambda row: (-row[v], order(row)), default={})
    n, total = len(having), sum(row[v] for row in having)
    variance = Fraction(sum((n * row[v] - total)**2 for row in having), n * n * (n - 1)) if n > 1 else None
    return {"count_" + v: n, "sum_" + v: total if n else None, "avg_" + v: real(Fraction(total, n)) if n else None,
            "min_" + v: least.get(v), "max_" + v: greatest.get(v),
            "min_" + v + "_id": least.get("id"), "max_" + v + "_id": greatest.get("id"),
            "min_" + v + "_ts": least.get("ts"), "max_" + v + "_ts": greatest.get("ts"),
            "first_" + v: timed[0][v] if timed else None, "last_" + v: timed[-1][v] if timed else None,
            **{f"{kind}_{v}_{what}": timed[at][what] if timed else None
               for kind, at in (("first", 0), ("last", -1)) for what in ("id", "ts")},
            "var_" + v: real(variance), "stddev_" + v: None if variance is None else sqrt(variance)}


def quotient(a, b):
    return a / b if b else None


def of_bounds(v, rows):
    """How many values are at or below each bound."""
    return {f"count_{v}_le_{bound}": sum(row[v] is not None and row[v] <= bound for row in rows) for bound in BOUNDS}


def of_pair(y, x, rows):
    """The functions of the SQL standard, of y and x."""
    pairs = [(row[y], row[x]) for row in rows if row[y] is not None and row[x] is not None]
    n, sum_y, sum_x = len(pairs), sum(b for b, _ in pairs), sum(a for _, a in pairs)
    mean_y, mean_x = (Fraction(total, n) if n else None for total in (sum_y, sum_x))
    s_xx, s_yy = sum((a - mean_x)**2 for _, a in pairs), sum((b - mean_y)**2 for b, _ in pairs)
    s_xy = sum((a - mean_x) * (b - mean_y) for b, a in pairs)
    slope = quotient(s_xy, s_xx)
    of_functions = {
        "regr_count": n, "corr": None if not s_xx or not s_yy else float(s_xy) / sqrt(s_xx) / sqrt(s_yy),
        "covar_pop": real(quotient(s_xy, n)), "covar_samp": real(quotient(s_xy, n - 1)) if n > 1 else None,
        "regr_slope": real(slope), "regr_intercept": real(None if slope is None else mean_y - slope * mean_x),
        "regr_r2": real(None if not s_xx else quotient(s_xy**2, s_xx * s_yy) if s_yy else Fraction(1))}
    return {f"{function}_{y}_{x}": result for function, result in of_functions.items()}


def carried(question, v, start, of_series, answer):
    """What fill says of a bucket that has no v."""
    samples = sorted((row for row in of_series if row[v] is not None and row["ts"] is not None), key=order)
    before = [row for row in samples if start is not OPEN and row["ts"] < start]
    behind = [row for row in samples if start is not OPEN and row["ts"] >= start]
    shown_as = [kind + v for kind in ("min_", "max_", "first_", "last_", "avg_")]
    if question.fill == "last" and before:
        answer.update({column: before[-1][v] for column in shown_as})
        answer.update({f"{kind}_{v}_{what}": before[-1][what] for kind in ("min", "max", "first", "last") for what in ("id", "ts")})
    if question.fill == "linear" and before and behind:
        (t0, v0), (t1, v1) = ((row["ts"], row[v]) for row in (before[-1], behind[0]))
        answer.update({column: real(v0 + Fraction((v1 - v0) * (start - t0), t1 - t0)) for column in shown_as})


def window_row(question, key, bucket, of_series, rows):
    times = [row["ts"] for row in rows if row["ts"] is not None]
    answer = question.head(key, bucket)
    answer.update(count=len(rows), first_ts=min(times, default=None), last_ts=max(times, default=None))
    for v in VALUES:
        of_v = of_value(v, rows)
        if of_v["count_" + v] == 0:
            if question.fill == "zero" and not rows:
                of_v["sum_" + v] = 0
            if question.fill == "null" and not rows:
                of_v["count_" + v] = None
            carried(question, v, question.cut(bucket)[0], of_series, of_v)
        answer.update(of_v)
    for counted in (of_bounds(MEASURED, rows), of_pair(MEASURED, "ts", rows)):
        if question.fill == "null" and not rows:
            counted = {column: None for column in counted}
        answer.update(counted)
    return answer


def rounded(answers):
    """The same where a column of integers has only integers: lines are rounded, halves away from zero, but for the mean."""
    kinds = ("min_", "max_", "first_", "last_")
    shown_as = {kind + v for kind in kinds for v in VALUES}
    return [{column: int(copysign(floor(abs(value) + 0.5), value)) if column in shown_as and isinstance(value, float) else value
             for column, value in row.items()} for row in answers]


def windows(question):
    answers = []
    if question.is_empty():
        return answers
    for key, of_series in question.series().items():
        found = {}
        for row in of_series:
            if question.holds(row["ts"]):
                found.setdefault(0 if question.is_everything else question.bucket_of(row["ts"]), []).append(row)
        buckets = sorted(found) if question.fill == "none" else question.all_buckets()
        answers += [window_row(question, key, bucket, of_series, found.get(bucket, [])) for bucket in buckets]
    return answers


# ---- spans ----

def end_of(row):
    return row["ts"] + max(row["dur"] or 0, 0)


def overlaps(row, a, b):
    """The definition; OPEN is beyond everything."""
    if row["ts"] is None or b is not OPEN and row["ts"] >= b:
        return False
    return a is OPEN or end_of(row) > a or (row["dur"] or 0) <= 0 and row["ts"] >= a


def inside(row, a, b):
    end = end_of(row) if b is OPEN else min(end_of(row), b)
    return max(end - (row["ts"] if a is OPEN else max(row["ts"], a)), 0)


def buckets_of_spans(question, rows):
    """All that a span may reach into."""
    if question.step is None:
        return range(question.n)
    timed = [row for row in rows if row["ts"] is not None]
    if not timed:
        return range(0)
    first = min(row["ts"] for row in timed) if question.t0 is OPEN else question.t0
    last = max(max(end_of(row) - 1, row["ts"]) for row in timed) if question.t1 is OPEN else question.t1 - 1
    last = min(last, GREATEST)
    return range(question.bucket_of(first), question.bucket_of(last) + 1)


def overlapping(question):
    answers = []
    if question.is_empty():
        return answers
    for key, of_series in question.series().items():
        buckets = question.all_buckets() if question.fill != "none" else buckets_of_spans(question, of_series)
        for bucket in buckets:
            a, b = question.cut(bucket)
            rows = [row for row in of_series if overlaps(row, a, b)]
            if not rows and question.fill == "none":
                continue
            lasting = [row for row in rows if row["dur"] is not None]
            longest = min(lasting, key=lambda row: (-row["dur"], order(row)), default={})
            clipped = sum(inside(row, a, b) for row in rows) if rows else 0 if question.fill == "zero" else None
            answers.append(dict(question.head(key, bucket), overlaps=len(rows), clipped_dur=clipped,
                                longest_dur=longest.get("dur"), longest_dur_id=longest.get("id"), longest_dur_ts=longest.get("ts")))
    return answers


def is_open(row, time):
    return row["ts"] is not None and (row["ts"] <= time < end_of(row) or row["ts"] == time)


def peaks(question):
    """How many spans are open at once, at most, and when first: at the start of a bucket, or where a span starts. In a bucket that
    is an empty interval, the spans that overlap it."""
    answers = []
    for found in overlapping(question):
        a, b = question.cut(found["bucket"])
        rows = [row for row in question.series()[tuple(found[name] for name in question.keep)] if overlaps(row, a, b)]
        times = {row["ts"] if a is OPEN else max(row["ts"], a) for row in rows}
        most = min(((-sum(is_open(row, time) for row in rows), time) for time in times), default=(0, None))
        answers.append(dict(found, peak=-most[0], peak_ts=most[1]))
    return answers


# ---- sketches, and conditions on values ----

def middle(number):
    """What a sketch takes an integer for: of 64 buckets for each power of two, the middle of its own."""
    shift = max(abs(number).bit_length() - 7, 0)
    value = (abs(number) >> shift << shift) + (2**shift - 1) // 2
    return value if number >= 0 else -value


def known(v, rows):
    return [row[v] for row in rows if row[v] is not None]


def total(numbers):
    return sum(numbers) if numbers else None


def quantile(numbers, q):
    """The number at place ceil(q n) of n."""
    return middle(sorted(numbers)[max(ceil(q * len(numbers)), 1) - 1]) if numbers else None


def rank(numbers, v):
    return real(Fraction(sum(middle(number) <= v for number in numbers), len(numbers))) if numbers else None


# columns of an index with sketches, as SQL over them that both engines understand
SKETCHES = {
    "iforest_sketch_count(sketch_dur)": lambda rows: len(known("dur", rows)),
    "iforest_quantile(sketch_dur,0)": lambda rows: quantile(known("dur", rows), Fraction(0)),
    "iforest_quantile(sketch_dur,0.5)": lambda rows: quantile(known("dur", rows), Fraction(1, 2)),
    "iforest_quantile(sketch_dur,0.875)": lambda rows: quantile(known("dur", rows), Fraction(7, 8)),
    "iforest_rank(sketch_dur,5)": lambda rows: rank(known("dur", rows), 5),
    "iforest_rank(sketch_dur,-1)": lambda rows: rank(known("dur", rows), -1)}
DISTINCT = {"iforest_distinct_count(distinct_dur)": lambda rows: len(set(known("dur", rows))),
            "iforest_distinct_count(distinct_size)": lambda rows: len(set(known("size", rows)))}
BINS = (-1, 0, 10, 50)  # tests/*/test_vectors.c have them too

# aggregates with conditions on values
TOLD = {
    "count(*)": len,
    "sum(dur)": lambda rows: total(known("dur", rows)),
    "count(*) FILTER (WHERE dur > 10)": lambda rows: sum(number > 10 for number in known("dur", rows)),
    "count(*) FILTER (WHERE dur IN (5,40,70))": lambda rows: sum(number in (5, 40, 70) for number in known("dur", rows)),
    "count(*) FILTER (WHERE dur IS NULL)": lambda rows: sum(row["dur"] is None for row in rows),
    "max(dur) FILTER (WHERE dur <> 70)": lambda rows: max((number for number in known("dur", rows) if number != 70), default=None),
    "sum(CASE WHEN dur >= 5 THEN 1 ELSE 0 END)": lambda rows: sum(number >= 5 for number in known("dur", rows)) if rows else None,
    "min(size) FILTER (WHERE size > 0)": lambda rows: min((number for number in known("size", rows) if number > 0), default=None)}


def above(value, bound):
    return value is not None and value > bound


def below(value, bound):
    return value is not None and value < bound


def known_where(v, holds, rows):
    return known(v, [row for row in rows if holds(row)])


# aggregates with conditions on two values, or on a value or another column
TOLD_OF_SEVERAL = {
    "count(*)": len,
    "sum(dur)": lambda rows: total(known("dur", rows)),
    "count(*) FILTER (WHERE dur > 10 AND size > 2)": lambda rows: sum(above(row["dur"], 10) and above(row["size"], 2) for row in rows),
    "count(*) FILTER (WHERE dur < 10 OR size IS NULL)": lambda rows: sum(below(row["dur"], 10) or row["size"] is None for row in rows),
    "max(size) FILTER (WHERE dur > 10 OR ts < 50)": lambda rows: max(
        known_where("size", lambda row: above(row["dur"], 10) or below(row["ts"], 50), rows), default=None),
    "sum(CASE WHEN size > 5 AND dur > 0 THEN dur END)": lambda rows: total(
        known_where("dur", lambda row: above(row["size"], 5) and above(row["dur"], 0), rows))}


def found_by(question, kept, groups_without_rows=False):
    """Of each series and bucket with rows, what `kept`, functions by their names, find in them."""
    answers = []
    for key, of_series in question.series().items():
        found = {0: []} if groups_without_rows and not question.keep else {}
        for row in () if question.is_empty() else of_series:
            if question.holds(row["ts"]):
                found.setdefault(0 if question.is_everything else question.bucket_of(row["ts"]), []).append(row)
        for bucket, rows in sorted(found.items()):
            answers.append(question.head(key, bucket) | {name: find(rows) for name, find in kept.items()})
    return answers


def heatmap(question):
    """How many numbers are in each bin of each bucket: lower <= v < upper."""
    bins = {lower: (lambda rows, lower=lower, upper=upper: sum(lower <= middle(number) < upper for number in known("dur", rows)))
            for lower, upper in zip(BINS, (*BINS[1:], 2.0**1000))}
    return [dict(found, **{"h.lower": float(lower), "h.count": found[lower]}) for found in found_by(question, bins) for lower in BINS]


def reaching(question):
    rows = [] if question.is_empty() else [row for row in question.table.indexed if question.where(row)]
    if not question.is_everything:
        rows = [row for row in rows if overlaps(row, question.t0, question.t1)]
    return [dict(row, end=None if row["ts"] is None else min(end_of(row), GREATEST)) for row in rows]


def largest(question, v, limit, is_descending):
    rows = [row for row in question.table.indexed if question.where(row) and question.holds(row["ts"]) and row[v] is not None and
            row["ts"] is not None]
    return sorted(rows, key=lambda row: (-row[v] if is_descending else row[v], order(row)))[:limit]


def gaps(question):
    answers = []
    if question.is_empty():
        return answers
    for key, of_series in question.series().items():
        latest = None
        for row in sorted((row for row in of_series if row["ts"] is not None), key=order):
            if latest is not None and row["ts"] > latest:
                answers.append(dict(zip(question.keep, key), gap_start=latest, gap_end=row["ts"]))
            latest = end_of(row) if latest is None else max(latest, end_of(row))
    return [gap for gap in answers if (question.t0 is OPEN or gap["gap_end"] > question.t0) and
            (question.t1 is OPEN or gap["gap_start"] < question.t1)]


def counter_of(v, samples, a, b):
    """Columns of value v as a counter; the samples are all of the series, in their order."""
    before, within = ([row for row in samples if low <= row["ts"] < high] for low, high in ((LEAST, a), (a, b)))
    answer = {"count_" + v: len(within), "start_" + v: before[-1][v] if before else None}
    answer.update({kind + v: None for kind in ("end_", "twa_", "increase_", "rate_", "resets_")})
    if not before and not within:
        return answer
    held = integral = increase = resets = 0
    so_far = before + within
    for i, row in enumerate(so_far):
        ends = [b] + [later["ts"] for later in samples[i + 1:i + 2]]
        if row["dur"] is not None and row["dur"] >= 0:
            ends.append(row["ts"] + row["dur"])
        width = max(min(ends) - max(row["ts"], a), 0)
        held, integral = held + width, integral + width * row[v]
        if i > 0 and row["ts"] >= a:
            increase += row[v] if row[v] < so_far[i - 1][v] else row[v] - so_far[i - 1][v]
            resets += row[v] < so_far[i - 1][v]
    answer.update({"end_" + v: so_far[-1][v], "twa_" + v: real(Fraction(integral, held)) if held else None, "increase_" + v: increase,
                   "rate_" + v: real(Fraction(increase, b - a)), "resets_" + v: resets})
    return answer


def counters(question):
    answers = []
    if question.is_empty():
        return answers
    for key, of_series in question.series().items():
        timed = sorted((row for row in of_series if row["ts"] is not None), key=order)
        for bucket in question.all_buckets():
            a, b = question.cut(bucket)
            if a >= b or not timed or timed[0]["ts"] >= b:
                continue
            times = [row["ts"] for row in timed if a <= row["ts"] < b]
            found = dict(question.head(key, bucket), count=len(times), first_ts=min(times, default=None), last_ts=max(times, default=None))
            for v in VALUES:
                found.update(counter_of(v, [row for row in timed if row[v] is not None], a, b))
            answers.append(found)
    return answers


# ---- writing ----

def shown(value):
    return "NULL" if value is None else repr(value) if isinstance(value, float) else str(value)


def literal(value):
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def feature(title, **exceptions):
    """exceptions: of an engine, (state, reason)."""
    print("\nfeature", title)
    for engine, (state, reason) in exceptions.items():
        print(state, engine, reason)


def ask(kind, question, columns, order_by=None, limit=None):
    print()
    given = [f"{name}={literal(value)}" for name, value in question.arguments if value is not ABSENT]
    print("ask", kind, question.table.name, *given)
    if kind == "fold":
        print("keep", ", ".join(question.keep))
    if question.condition:
        print("where", question.condition)
    if order_by:
        print("order by", order_by, *(("limit", limit) if limit else ()))
    print("columns", ", ".join(question.table.called(columns)))


def answer(rows, columns):
    for row in rows:
        print("=", "|".join(shown(row[column]) for column in columns))


PAIR = [f"{f}_{MEASURED}_ts" for f in ("regr_count", "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2")]
COUNTS = [f"count_{MEASURED}_le_{bound}" for bound in BOUNDS]


def all_of(v):
    return [f.format(v) for f in ("count_{}", "sum_{}", "min_{}", "max_{}", "avg_{}", "first_{}", "last_{}",
                                  "min_{}_id", "max_{}_id", "min_{}_ts", "max_{}_ts")]


def ends_of(v):
    return [f.format(v) for f in ("first_{}_id", "last_{}_id", "first_{}_ts", "last_{}_ts")]


HEAD = ["bucket", "bucket_start", "bucket_end"]
SUMS = ["count", "sum_dur", "max_dur", "max_dur_id"]
OVERLAP = HEAD + ["overlaps", "clipped_dur", "longest_dur", "longest_dur_id", "longest_dur_ts"]


def except_for(columns, exceptions):
    """exceptions: (engine, reason, its rows or error)."""
    for engine, reason, rows in exceptions:
        print("differs", engine, reason)
        if isinstance(rows, str):
            print("error", rows)
        else:
            answer(rows, columns)


def ask_window(question, columns, kind="window", exceptions=()):
    columns = list(question.keep) + columns
    ask(kind, question, columns)
    answer(windows(question), columns)
    except_for(columns, exceptions)


def ask_overlap(question, columns=OVERLAP, exceptions=()):
    columns = list(question.keep) + columns
    ask("overlap", question, columns)
    answer(overlapping(question), columns)
    except_for(columns, exceptions)


def ask_peak(question, columns=("bucket", "peak", "peak_ts"), exceptions=()):
    columns = [*question.keep, *columns]
    ask("peak", question, columns)
    answer(peaks(question), columns)
    except_for(columns, exceptions)


def ask_sketch(question, kept):
    columns = [*question.keep, "bucket", *kept]
    ask("sketch", question, columns)
    answer(found_by(question, kept), columns)


def ask_values(question, told):
    columns = [*question.keep, *told]
    ask("values", question, columns)
    answer(found_by(question, told, groups_without_rows=True), columns)


def counted(v):
    return [kind + v for kind in ("count_", "start_", "end_", "twa_", "increase_", "rate_", "resets_")]


def ask_counter(question):
    columns = [*question.keep, *HEAD, "count", "first_ts", "last_ts"] + [what for v in VALUES for what in counted(v)]
    ask("counter", question, columns)
    answer(counters(question), columns)


def ask_rows(question, exceptions=()):
    columns = ["id", *question.table.names, "ts", "dur", "size", "end"]
    ask("rows", question, columns)
    answer(reaching(question), columns)
    except_for(columns, exceptions)


def ask_largest(question, v, limit, is_descending=True):
    columns = ["id", *question.table.names, "ts", v]
    ask("top", question, columns, f"{v}{' DESC' if is_descending else ''}, ts, id", limit)
    answer(largest(question, v, limit, is_descending), columns)


def ask_columns(kind, table, columns, exceptions=()):
    ask("columns_of_" + kind, Question(table, 0, 1) if kind == "counter" else Question(table), ["name"])
    answer([{"name": column} for column in columns], ["name"])
    except_for(["name"], [(engine, reason, [{"name": column} for column in rows]) for engine, reason, rows in exceptions])


def refuse(kind, question, message, columns=("bucket",)):
    ask(kind, question, columns)
    print("error", message)


EXACT_SUMS = "a sum of bigint is numeric in PostgreSQL, which does not overflow; in SQLite it is an integer, as sum() has it"
WHOLE = "a column of integers has integers: a line is rounded in it; avg_... has it as it is"
NULLS = "an argument of NULL is one that is not given: a function cannot tell them apart"
ENDS = "the least and the greatest bigint are no bounds: they are what the arguments are where they are not given"


OF_ITS_OWN = "the peak has a function of its own, spans_if_peak: a function cannot see which columns are read, and this one is dear"
TIMELESS = "rows without a time are in no window, the open one included: the table has them"


def write():
    spans, twos, regular, extreme, nothing, some, ending = tables = small(), pairs(), steady(), edges(), empty(), bad(), ends()
    on_main = (lambda row: row["track"] == "main", "track = 'main'")
    on_null = (lambda row: row["track"] is None, "track IS NULL")
    on_some = (lambda row: row["track"] in ("io", "late", "nobody"), "track IN ('io', 'late', 'nobody')")
    on_good = (lambda row: row["service"] == "api" and row["status"] == 200, "service = 'api' AND status = 200")
    on_bad = (lambda row: row["status"] is not None and row["status"] >= 400, "status >= 400")
    print("# Written by make.py: do not edit. README.md explains it.")
    print("name postgres overlaps count OVERLAPS is a word of PostgreSQL's grammar")
    print("reference postgres id ctid a row is found by its ctid in PostgreSQL, by its rowid in SQLite")
    print("reference postgres _id _ctid the same")
    print()
    for table in tables:
        table.write()

    feature("the columns: their names and their order")
    kept = [what for v in VALUES for what in all_of(v)] + [what + v for v in VALUES for what in ("var_", "stddev_")] + COUNTS + PAIR
    kept += [what for v in VALUES for what in ends_of(v)]
    for table in (twos, regular):
        ask_columns("window", table, [*table.names, *HEAD, "count", "first_ts", "last_ts", *kept])
        ask_columns("overlap", table, [*table.names, *OVERLAP, "peak", "peak_ts"],
                    [("postgres", OF_ITS_OWN, [*table.names, *OVERLAP])])
        ask_columns("rows", table, ["id", *table.names, "ts", "dur", "size", "end"])

    feature("windows: sums, extremes, means, first and last")
    ask_window(Question(spans), HEAD + ["count", "first_ts", "last_ts"] + all_of("dur"))
    ask_window(Question(spans), ["count"] + all_of("size"))
    for window in ((0, 50), (-30, 100), (10, 11), (99, 101), (200, 300)):
        ask_window(Question(spans, *window), HEAD + ["count", "first_ts", "last_ts"] + all_of("dur"))
    ask_window(Question(spans, t0=10), HEAD + SUMS)
    ask_window(Question(spans, t1=10), HEAD + SUMS)
    for table in (twos, regular, nothing):
        ask_window(Question(table), HEAD + ["count", "first_ts", "last_ts"] + all_of("dur") + all_of("size"))
        ask_window(Question(table, -100, 333), HEAD + ["count", "first_ts", "last_ts"] + all_of("dur") + all_of("size"))
    ask_window(Question(spans, 50, 50), SUMS)
    ask_window(Question(spans, 50, 10), SUMS)

    feature("variances and standard deviations")
    ask_window(Question(spans), ["count_dur", "var_dur", "stddev_dur"])
    ask_window(Question(regular, -200, 700, n=3), ["bucket", "var_dur", "stddev_dur"])

    feature("counts of the values at or below kept bounds (histograms)")
    for table in (spans, extreme, nothing):
        ask_window(Question(table), ["count_dur"] + COUNTS)
    ask_window(Question(spans, 0, 100, n=4), ["bucket"] + COUNTS)
    ask_window(Question(twos, -300, 700, n=3), ["bucket"] + COUNTS)
    ask_window(Question(twos, step=200, origin=7, where=on_bad), ["bucket"] + COUNTS)
    ask_window(Question(regular, -5000, 1000, n=6), ["bucket"] + COUNTS)
    for fill in ("null", "zero", "last", "linear"):
        ask_window(Question(regular, 900, 1500, step=100, fill=fill), ["bucket"] + COUNTS)
        ask_window(Question(spans, 0, 100, n=4, fill=fill), ["bucket"] + COUNTS)

    feature("correlation, covariance and regression against the time (products)")
    for table in (spans, regular, nothing):
        ask_window(Question(table), PAIR)
    ask_window(Question(spans, 0, 100, n=4), ["bucket"] + PAIR)
    ask_window(Question(twos, -300, 700, n=3), ["bucket"] + PAIR)
    ask_window(Question(twos, step=200, origin=7, where=on_bad), ["bucket"] + PAIR)
    ask_window(Question(regular, -200, 1000, n=6), ["bucket"] + PAIR)
    for fill in ("null", "zero", "last", "linear"):
        ask_window(Question(regular, 900, 1500, step=100, fill=fill), ["bucket"] + PAIR)

    feature("the row of the smallest and of the largest value, ties decided")
    ask_window(Question(spans, 0, 100), ["max_dur", "max_dur_id", "max_dur_ts", "min_size", "min_size_id", "min_size_ts"])
    ask_window(Question(spans), ["min_dur_id", "max_dur_id", "min_size_id", "max_size_id", "max_size_ts"])
    ask_window(Question(regular, -500, 1000, n=4), ["bucket", "min_dur_id", "max_dur_id", "max_size_id", "min_size_ts"])

    feature("the first and the last row that has a value: its id and its time")
    for table in (spans, twos, regular, nothing, extreme):
        ask_window(Question(table), ["count"] + ends_of("dur") + ends_of("size"))
    for window, n in (((0, 100), 4), ((5, 100), 3), ((5, 11), 2)):
        ask_window(Question(spans, *window, n=n), ["bucket"] + ends_of("size") + ends_of("dur"))
    ask_window(Question(twos, -300, 700, step=500, origin=-300), ["bucket"] + ends_of("dur") + ["min_dur_id", "last_dur"])
    ask_window(Question(spans, t0=10), ends_of("size"))
    for fill in ("null", "zero", "last", "linear"):
        ask_window(Question(spans, 0, 120, n=6, fill=fill), ["bucket", "count"] + ends_of("size"))
        ask_window(Question(regular, 940, 1100, step=20, fill=fill), ["bucket", "count"] + ends_of("dur"))

    feature("n buckets")
    for window, n in (((0, 100), 4), ((-30, 71), 7), ((10, 13), 5), ((0, 100), 1), ((9, 11), 1000)):
        ask_window(Question(spans, *window, n=n), HEAD + SUMS + ["min_size", "last_size"])
    for window, n in (((-500, 1000), 10), ((-497, 883), 13), ((-10000, 10000), 3)):
        ask_window(Question(regular, *window, n=n), HEAD + SUMS + ["first_dur", "last_dur", "avg_size"])
    ask_window(Question(twos, -300, 700, n=3), HEAD + SUMS)
    ask_window(Question(spans, n=1), HEAD + SUMS)

    feature("buckets of a step, with an origin")
    for step, origin in ((25, ABSENT), (7, 3), (30, -1000000007), (1000, 999)):
        ask_window(Question(spans, -30, 101, step=step, origin=origin), HEAD + SUMS)
    ask_window(Question(spans, step=50), HEAD + SUMS)
    ask_window(Question(spans, t0=12, step=50, origin=20), HEAD + SUMS)
    ask_window(Question(spans, t1=12, step=50, origin=-20), HEAD + SUMS)
    ask_window(Question(regular, -333, 666, step=100), HEAD + SUMS + ["first_ts", "last_ts"])
    ask_window(Question(twos, -300, 700, step=500, origin=-300), HEAD + SUMS)

    feature("windows, buckets and overlaps at random")
    dice = Dice(20240231)
    for i in range(16):
        t0 = dice.below(1200) - 500
        window = {"t0": t0, "t1": t0 + 1 + dice.below(900)}
        cuts = ({}, {"n": 1 + dice.below(6)}, {"step": 150 + dice.below(400), "origin": dice.below(2000) - 1000})[i % 3]
        ask_window(Question(twos, **window, **cuts), ["bucket"] + SUMS + ["min_size_id", "first_dur", "last_size", "last_ts"])
        ask_overlap(Question(twos, **window, **cuts), OVERLAP[:1] + OVERLAP[3:])

    feature("conditions on by columns")
    for where in (on_main, on_null, on_some):
        ask_window(Question(spans, where=where), SUMS)
        ask_window(Question(spans, 0, 100, n=4, where=where), HEAD + SUMS)
    for where in (on_good, on_bad):
        ask_window(Question(twos, -300, 700, n=3, where=where), HEAD + SUMS)

    feature("fill: buckets without rows, as NULL")
    ask_window(Question(spans, 0, 100, n=4, fill="null"), HEAD + SUMS + ["count_dur", "first_ts"])
    ask_window(Question(spans, 0, 100, fill="null"), HEAD + SUMS)
    ask_window(Question(nothing, 0, 100, n=2, fill="null"), HEAD + SUMS)
    ask_window(Question(spans, 50, 50, fill="null"), SUMS)

    feature("fill: buckets without rows, as zero")
    ask_window(Question(spans, 0, 100, n=4, fill="zero"), HEAD + SUMS + ["count_dur", "sum_size", "avg_dur"])
    ask_window(Question(spans, -30, 101, step=50, origin=5, fill="zero"), HEAD + SUMS)
    ask_window(Question(spans, 9, 11, n=5, fill="zero", where=on_main), HEAD + SUMS)
    ask_window(Question(regular, 900, 1500, step=100, fill="zero"), HEAD + SUMS)
    ask_window(Question(spans, fill="zero"), SUMS)
    ask_window(Question(nothing, fill="zero"), SUMS)
    ask_window(Question(spans, 0, 100, n=4, fill="none"), HEAD + SUMS)

    feature("fill: the last sample carried on, and a line between samples")
    for fill in ("last", "linear"):
        ask_window(Question(regular, 940, 1100, step=20, fill=fill),
                   HEAD + ["count", "count_dur", "sum_dur", "min_dur", "max_dur_id", "last_dur"])
        question = Question(spans, 0, 120, n=6, fill=fill)
        exceptions = (("postgres", WHOLE, rounded(windows(question))),) if fill == "linear" else ()
        ask_window(question, ["bucket", "count", "last_size", "avg_size", "min_size_ts", "last_dur"], exceptions=exceptions)
        question = Question(spans, 15, 17, fill=fill)
        exceptions = (("postgres", WHOLE, rounded(windows(question))),) if fill == "linear" else ()
        ask_window(question, ["count", "last_size", "max_dur"], exceptions=exceptions)
        ask_window(question, ["avg_dur", "avg_size", "count_size", "sum_size", "max_size_id", "max_dur_ts"])
        ask_window(Question(twos, -300, 700, n=9, fill=fill), ["bucket", "avg_dur", "avg_size", "max_dur_id"])
        ask_window(Question(spans, t0=50, fill=fill), ["avg_dur", "avg_size", "min_dur_ts"])
        ask_window(Question(spans, t1=50, fill=fill), ["avg_dur", "avg_size", "min_dur_ts"])
        ask_window(Question(nothing, 0, 10, n=2, fill=fill), ["bucket", "count", "count_dur", "avg_size"])
        ask_window(Question(regular, -30, 1500, step=70, origin=13, fill=fill), HEAD + ["avg_dur", "avg_size"])
        ask_window(Question(spans, 9, 11, n=5, fill=fill), HEAD + ["avg_dur", "avg_size"])
        ask_window(Question(twos, -100, 500, n=4, fill=fill, where=on_good), ["bucket", "count_dur", "last_dur", "last_size"])

    feature("by columns folded", postgres=("instead", "GROUP BY over the table, answered from the index"))
    for keep in (("service",), ("status",), ()):
        ask_window(Question(twos, keep=keep), SUMS + ["first_dur", "last_size", "min_size_ts", "avg_dur"], "fold")
        ask_window(Question(twos, -300, 700, n=5, keep=keep),
                   ["bucket"] + SUMS + ["first_dur", "last_size", "min_size_id"], "fold")
        ask_window(Question(twos, -250, 650, step=300, origin=-50, keep=keep), ["bucket"] + SUMS, "fold")
    ask_window(Question(spans, 0, 100, n=4, keep=()), ["bucket"] + SUMS + ["min_size_id", "last_dur"], "fold")

    feature("times and sums at the ends of 64 bits")
    free = ["count", "first_ts", "last_ts", "min_dur", "max_dur", "min_dur_id", "max_dur_id", "first_size", "last_size",
            "max_size_id"]
    ask_window(Question(extreme), HEAD + free)
    ask_window(Question(extreme, t0=0), HEAD + free)
    ask_window(Question(extreme, t1=0), HEAD + free)
    ask_window(Question(extreme, LEAST + 1, GREATEST - 1, n=3), HEAD + free)
    ask_window(Question(extreme, LEAST + 1, GREATEST - 1, n=2), HEAD + free)
    ask_window(Question(extreme, step=2**62), HEAD + free)
    ask_window(Question(extreme, step=GREATEST, origin=-1), HEAD + free)
    ask_window(Question(extreme, GREATEST - 8, GREATEST - 1, n=2), HEAD + free)
    ask_window(Question(extreme, -1, 2), ["sum_dur"], exceptions=(("sqlite", EXACT_SUMS, "integer overflow"),))
    ask_window(Question(extreme, -1, 2), ["sum_size", "avg_size"])
    question = Question(extreme, GREATEST - 10, GREATEST)
    ask_window(question, HEAD + ["count"], exceptions=(("postgres", ENDS, windows(Question(extreme, GREATEST - 10))),))

    feature("bounds and other arguments that are NULL")
    ask_window(Question(spans, None, 50), SUMS)
    ask_window(Question(spans, 0, None), SUMS)
    ask_window(Question(spans, 0, None, fill="zero"), SUMS)
    for name in ("n", "step", "fill"):
        question = Question(spans, 0, 50, **{name: None})
        ask_window(question, SUMS, exceptions=(("postgres", NULLS, windows(Question(spans, 0, 50))),))
    ask_overlap(Question(spans, None, 50))

    feature("errors that name what is wrong")
    for kind in ("window", "overlap"):
        refuse(kind, Question(spans, 0, 100, n=0), "n must be greater than 0")
        refuse(kind, Question(spans, 0, 100, n=-3), "n must be greater than 0")
        refuse(kind, Question(spans, 0, 100, step=0), "step must be greater than 0")
        refuse(kind, Question(spans, 0, 100, step=-25), "step must be greater than 0")
        refuse(kind, Question(spans, 0, 100, n=4, step=25), "n and step exclude each other")
        refuse(kind, Question(spans, 0, n=4), "n needs both t0 and t1")
        refuse(kind, Question(spans, t1=100, n=4), "n needs both t0 and t1")
        refuse(kind, Question(spans, 0, 100, origin=7), "origin needs step")
    refuse("window", Question(spans, 0, 100, fill="often"), "fill is one of 'none', 'null', 'zero'")
    refuse("window", Question(spans, 0, step=10, fill="zero"), "fill with step needs both t0 and t1")
    refuse("overlap", Question(spans, 0, 100, fill="often"), "fill is one of 'none', 'null', 'zero'")
    for fill in ("last", "linear"):
        refuse("overlap", Question(spans, 0, 100, n=4, fill=fill), "fill of overlaps is one of 'none', 'null', 'zero'")
    for bounds in ({}, {"t0": 0}, {"t1": 100}):
        refuse("overlap", Question(spans, **bounds, step=10, fill="null"), "fill with step needs both t0 and t1")

    feature("spans that overlap a window: how many, their time inside, the longest")
    for window in ((0, 50), (50, 70), (-100, 300), (10, 11), (100, 101), (300, 400)):
        ask_overlap(Question(spans, *window))
    ask_overlap(Question(spans))
    ask_overlap(Question(spans, t0=50))
    ask_overlap(Question(spans, t1=50))
    ask_overlap(Question(spans, 50, 50))
    ask_overlap(Question(nothing, 0, 100))
    for window in ((100, 200), (-500, 1000)):
        ask_overlap(Question(regular, *window))
        ask_overlap(Question(twos, *window))
    ask_overlap(Question(extreme), ["overlaps", "longest_dur", "longest_dur_id"])
    ask_overlap(Question(extreme, GREATEST - 3, GREATEST - 1))
    ask_overlap(Question(extreme, t0=GREATEST - 3), ["overlaps", "clipped_dur", "longest_dur_id"])

    feature("spans that overlap buckets")
    for window, n in (((0, 100), 4), ((-30, 71), 7), ((12, 14), 5), ((10, 12), 6)):
        ask_overlap(Question(spans, *window, n=n))
    for step, origin in ((25, ABSENT), (30, -7)):
        ask_overlap(Question(spans, -30, 101, step=step, origin=origin))
    ask_overlap(Question(regular, -500, 1000, n=6))
    ask_overlap(Question(twos, -300, 700, step=500))
    ask_overlap(Question(extreme, LEAST + 1, GREATEST - 1, n=3), ["bucket", "overlaps", "longest_dur_id"])
    ask_overlap(Question(spans, 0, 100, n=4, where=on_main))

    feature("spans that overlap buckets of a step, the window open")
    ask_overlap(Question(spans, t0=40, step=50))
    ask_overlap(Question(spans, t1=40, step=50))
    ask_overlap(Question(spans, step=100, origin=7))
    for table in (regular, twos):
        ask_overlap(Question(table, t0=700, step=5000, origin=-3))
        ask_overlap(Question(table, t1=-200, step=1000, origin=11))
        ask_overlap(Question(table, step=10000))
    ask_overlap(Question(twos, t0=300, step=200, where=on_good))
    ask_overlap(Question(nothing, t0=5, step=10))
    ask_overlap(Question(extreme, t0=0, step=2**62), ["bucket", "overlaps", "clipped_dur", "longest_dur_id"])
    ask_overlap(Question(extreme, t1=0, step=2**62), ["bucket", "overlaps", "longest_dur_id"])
    ask_overlap(Question(extreme, step=2**62, origin=-1), ["bucket", "overlaps", "longest_dur_id"])

    feature("fill: buckets that no span overlaps")
    for fill in ("null", "zero"):
        ask_overlap(Question(spans, 60, 180, n=4, fill=fill))
        ask_overlap(Question(spans, 100, 300, fill=fill))
        ask_overlap(Question(spans, 90, 251, step=50, origin=7, fill=fill))
        ask_overlap(Question(spans, 98, 100, n=5, fill=fill))
        ask_overlap(Question(spans, 60, 180, n=3, fill=fill, where=on_some))
        ask_overlap(Question(twos, -300, 1200, n=3, fill=fill, where=on_bad))
        ask_overlap(Question(regular, 14000, 18000, n=4, fill=fill))
        ask_overlap(Question(nothing, 0, 100, step=50, fill=fill))
        ask_overlap(Question(extreme, -2**62, 2**62, n=3, fill=fill), ["bucket", "overlaps", "longest_dur_id"])
    ask_overlap(Question(spans, fill="zero"))
    ask_overlap(Question(spans, t0=100, fill="null"))
    ask_overlap(Question(spans, t1=-20, fill="zero"))
    ask_overlap(Question(spans, 50, 50, n=2, fill="zero"))
    ask_overlap(Question(spans, 60, 180, n=4, fill="none"))

    feature("the peak: how many spans are open at once, at most, and when")
    for window in ((0, 50), (50, 70), (-100, 300), (10, 11), (300, 400)):
        ask_peak(Question(spans, *window))
    ask_peak(Question(spans))
    ask_peak(Question(spans, t0=50))
    ask_peak(Question(spans, t1=50))
    ask_peak(Question(spans, 50, 50))
    ask_peak(Question(nothing, 0, 100))
    for window, n in (((0, 100), 4), ((-30, 71), 7), ((12, 14), 5), ((10, 12), 6)):
        ask_peak(Question(spans, *window, n=n))
    for step, origin in ((25, ABSENT), (30, -7)):
        ask_peak(Question(spans, -30, 101, step=step, origin=origin))
    for table in (regular, twos):
        ask_peak(Question(table))
        ask_peak(Question(table, -300, 700, n=6))
        ask_peak(Question(table, t0=0, step=300))
        ask_peak(Question(table, t1=200, step=300))
    ask_peak(Question(twos, -300, 700, n=4, where=on_good))
    ask_peak(Question(extreme))
    for question in (Question(extreme, t0=GREATEST - 3), Question(extreme, LEAST + 1, GREATEST - 1, n=3),
                     Question(extreme, t0=0, step=2**62)):
        ask_peak(question)

    feature("fill: buckets in which nothing is open, of the peak")
    for fill in ("null", "zero"):
        ask_peak(Question(spans, 60, 180, n=4, fill=fill))
        ask_peak(Question(spans, 100, 300, fill=fill))
        ask_peak(Question(spans, 90, 251, step=50, origin=7, fill=fill))
        ask_peak(Question(spans, 98, 100, n=5, fill=fill))
        ask_peak(Question(twos, -300, 1200, n=3, fill=fill, where=on_bad))
        ask_peak(Question(regular, 14000, 18000, n=4, fill=fill))
        ask_peak(Question(nothing, 0, 100, step=50, fill=fill))
        ask_peak(Question(extreme, -2**62, 2**62, n=3, fill=fill))
    ask_peak(Question(spans, fill="zero"))
    ask_peak(Question(spans, 50, 50, n=2, fill="zero"))
    ask_peak(Question(spans, 60, 180, n=4, fill="none"))

    feature("rows that reach into a window")
    for window in ((0, 50), (50, 60), (11, 12), (60, 61), (100, 101), (-100, -30), (500, 600)):
        ask_rows(Question(spans, *window))
    ask_rows(Question(spans, t0=50))
    ask_rows(Question(spans, t1=0))
    ask_rows(Question(spans, 50, 50))
    ask_rows(Question(spans, None, 50))
    ask_rows(Question(spans, 0, 50, where=on_main))
    ask_rows(Question(regular, 100, 120))
    ask_rows(Question(twos, 0, 30))
    ask_rows(Question(extreme, GREATEST - 3, GREATEST - 1))
    ask_rows(Question(spans), (("postgres", TIMELESS, reaching(Question(spans, LEAST))),))

    feature("the largest and the smallest values of a window",
            postgres=("instead", "ORDER BY over the table, answered from the index"))
    for window in ((0, 100), (-30, 61), (500, 600)):
        ask_largest(Question(spans, *window), "dur", 4)
        ask_largest(Question(spans, *window), "size", 5, False)
    ask_largest(Question(spans, 0, 100, where=on_main), "dur", 3)
    ask_largest(Question(regular, -500, 1000), "size", 12)
    ask_largest(Question(twos, -100, 700, where=on_good), "dur", 4)
    ask_largest(Question(extreme, LEAST + 1, GREATEST), "dur", 6)

    feature("gaps between spans")
    for arguments in ({}, {"t0": 0}, {"t0": 0, "t1": 60}, {"t1": -30}, {"t0": 60, "t1": 60}, {"t0": 1000}):
        for table in (spans, regular, twos, nothing, extreme):
            question = Question(table, **arguments)
            columns = [*table.names, "gap_start", "gap_end"]
            ask("gaps", question, columns)
            answer(gaps(question), columns)


    feature("values as counters: means over time, increases, rates, resets")
    for table in (twos, regular):
        ask_columns("counter", table, [*table.names, *HEAD, "count", "first_ts", "last_ts"] + [what for v in VALUES for what in counted(v)])
    for window in ((0, 50), (-30, 100), (10, 11), (5, 6), (200, 300)):
        ask_counter(Question(spans, *window))
    for window, n in (((0, 100), 4), ((-30, 71), 7), ((12, 14), 5)):
        ask_counter(Question(spans, *window, n=n))
    for step, origin in ((25, ABSENT), (30, -7)):
        ask_counter(Question(spans, -30, 101, step=step, origin=origin))
    ask_counter(Question(regular, -497, 883, n=13))
    ask_counter(Question(regular, -6000, -4000, n=3))
    ask_counter(Question(twos, -300, 700, n=3))
    ask_counter(Question(twos, -50, 700, step=170, where=on_good))
    ask_counter(Question(nothing, 0, 100, n=2))
    ask_counter(Question(spans, 50, 50))
    for message, arguments in (("n must be greater than 0", {"n": 0}), ("n and step exclude each other", {"n": 4, "step": 25}),
                               ("origin needs step", {"origin": 7})):
        refuse("counter", Question(spans, 0, 100, **arguments), message)

    feature("percentiles and shares of values, from sketches")
    for table in (spans, twos, regular, nothing):
        ask_sketch(Question(table), SKETCHES)
        ask_sketch(Question(table, -100, 333), SKETCHES)
    ask_sketch(Question(spans, 0, 100, n=4), SKETCHES)
    ask_sketch(Question(twos, -300, 700, step=170, origin=-7, where=on_good), SKETCHES)
    ask_sketch(Question(regular, -497, 883, n=13), SKETCHES)

    feature("heatmaps: bins of values, from sketches")
    for question in (Question(spans, 0, 100, n=4, where=on_main), Question(spans, where=on_null), Question(regular, -497, 883, n=5),
                     Question(nothing, 0, 100)):
        columns = ["bucket", "h.lower", "h.count"]
        ask("heatmap", question, columns, order_by="bucket, h.lower")
        answer(heatmap(question), columns)

    feature("how many different values there are (distinct sketches)")
    for table in (spans, twos, regular, nothing):
        ask_sketch(Question(table), DISTINCT)
    ask_sketch(Question(spans, 0, 100, n=4), DISTINCT)
    ask_sketch(Question(twos, -300, 700, step=170, where=on_good), DISTINCT)
    ask_sketch(Question(regular, -497, 883, n=13), DISTINCT)

    feature("conditions on values, beside aggregates and within", sqlite=("instead", "GROUP BY over the rows of an index"),
            postgres=("instead", "GROUP BY over the table, in most cases answered from the index"))
    for where in ((lambda row: row["dur"] in (5, 25, 70), "dur IN (5,25,70)"),
                  (lambda row: row["dur"] is not None and row["dur"] != 10, "dur <> 10"),
                  (lambda row: row["dur"] is not None and (row["dur"] < 5 or row["dur"] > 30), "(dur < 5 OR dur > 30)"),
                  (lambda row: row["dur"] is not None and 1 <= row["dur"] <= 40, "dur BETWEEN 1 AND 40"),
                  (lambda row: row["size"] is None, "size IS NULL"),
                  (lambda row: row["dur"] is not None and row["size"] is not None and row["dur"] > 0 and row["size"] < 6, "dur > 0 AND size < 6"),
                  None):
        for question in (Question(spans, where=where), Question(spans, 0, 61, where=where), Question(twos, -100, 333, where=where),
                         Question(regular, t0=-40, where=where)):
            ask_values(question, TOLD)

    feature("conditions on two values, or on a value or another column", sqlite=("instead", "GROUP BY over the rows of an index"),
            postgres=("instead", "GROUP BY over the table, answered from the index by classes"))
    any_of = (lambda row: above(row["dur"], 30) or below(row["size"], 5) or below(row["ts"], 40), "(dur > 30 OR size < 5 OR ts < 40)")
    for question in (Question(spans, where=any_of), Question(twos, -100, 333, where=any_of), Question(regular, t0=-40, where=any_of)):
        ask_values(question, TOLD_OF_SEVERAL)

    feature("an index of some rows: where= in SQLite, a partial index in PostgreSQL")
    ask_window(Question(some), HEAD + ["count", "first_ts", "last_ts"] + all_of("dur"))
    ask_window(Question(some, -200, 500, n=7), HEAD + SUMS + ends_of("size"))
    ask_window(Question(some, -300, 700, step=90, origin=4, fill="zero", where=on_bad), HEAD + SUMS)
    ask_window(Question(some, 100, 600, n=3, fill="last"), HEAD + all_of("size"))
    ask_overlap(Question(some, 0, 400))
    ask_overlap(Question(some, -300, 700, n=9))
    ask_peak(Question(some, -300, 700, n=4))
    ask_rows(Question(some, 100, 300))
    ask_counter(Question(some, -300, 700, n=3))
    ask("gaps", Question(some), [*some.names, "gap_start", "gap_end"])
    answer(gaps(Question(some)), [*some.names, "gap_start", "gap_end"])

    feature("ends in the place of durations")
    ask_overlap(Question(ending))
    for window, n in (((0, 50), 1), ((-30, 100), 6), ((12, 14), 5), ((-300, 700), 8)):
        ask_overlap(Question(ending, *window, n=n))
        ask_peak(Question(ending, *window, n=n))
    ask_overlap(Question(ending, step=200, origin=-7))
    ask_window(Question(ending, -30, 400, n=5), HEAD + ["count", "first_ts", "last_ts"] + all_of("size"))
    for window in ((0, 50), (100, 101)):
        ask("rows", Question(ending, *window), ["id", *ending.names, "ts", "size", "end"])
        answer(reaching(Question(ending, *window)), ["id", *ending.names, "ts", "size", "end"])
    ask("gaps", Question(ending), [*ending.names, "gap_start", "gap_end"])
    answer(gaps(Question(ending)), [*ending.names, "gap_start", "gap_end"])
    for window in ((0, 50), (-300, 700)):
        columns = [*ending.names, *HEAD, "count", "first_ts", "last_ts", *counted("size")]
        question = Question(ending, *window, n=3)
        ask("counter", question, columns)
        answer(counters(question), columns)


if __name__ == "__main__":
    write()
