-- Everything in a short window.
SELECT count(*), sum(dur), max(dur) FROM spans
WHERE ts >= :short0 AND ts < :short1;
