-- Everything in a wide window. The answer stands in the nodes of iforest's index, but PostgreSQL does not look for it there.
SELECT count(*), sum(dur), max(dur) FROM spans
WHERE ts >= :t0 AND ts < :t1;
