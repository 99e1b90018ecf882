-- One track in a short window: how many spans start in it, how long they take together, the longest.
SELECT count(*), sum(dur), max(dur) FROM spans
WHERE track = :'track' AND ts >= :short0 AND ts < :short1;
