-- Everything in a wide window. With iforest's index it is answered from the sums in its nodes.
SELECT count(*), sum(dur), max(dur) FROM spans
WHERE ts >= :t0 AND ts < :t1;
