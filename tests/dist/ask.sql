SELECT count(*) AS series FROM spans_if(1732367002000000000, 1732367015000000000);
SELECT count(*) AS different FROM (SELECT track, count, sum_dur, max_dur, sum_weight FROM spans_if(1732367002000000000, 1732367015000000000) EXCEPT
  SELECT track, count(*), sum(dur), max(dur), sum(weight) FROM spans WHERE ts >= 1732367002000000000 AND ts < 1732367015000000000 GROUP BY 1);
DELETE FROM spans WHERE id % 13 = 0;
INSERT INTO spans_if(spans_if) VALUES('flush');
INSERT INTO spans_if(spans_if) VALUES('integrity-check');
SELECT sum(count) = (SELECT count(*) FROM spans) AS counts, sum(sum_dur) = (SELECT sum(dur) FROM spans) AS sums FROM spans_if;
SELECT track, iforest_quantile(sketch_dur, 0.5) > 0 AS median FROM spans_if ORDER BY track LIMIT 1;
