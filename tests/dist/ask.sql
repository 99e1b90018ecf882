SELECT track, count, sum_dur, max_dur, max_dur_id, sum_weight, round(var_dur, 3) AS var_dur FROM spans_if(1732367000000000000, 1732367015000000000);
DELETE FROM spans WHERE id % 13 = 0;
INSERT INTO spans_if(spans_if) VALUES('flush');
INSERT INTO spans_if(spans_if) VALUES('integrity-check');
SELECT count(*) AS n, sum(count) AS spans, sum(sum_dur) AS total FROM spans_if(NULL, NULL) WHERE 0;
SELECT sum(count) = (SELECT count(*) FROM spans) AS counts, sum(sum_dur) = (SELECT sum(dur) FROM spans) AS sums FROM spans_if;
