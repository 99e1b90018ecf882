-- What each track did last before a moment.
SELECT track, last.*
FROM unnest(:'tracks'::text[]) AS track,
	LATERAL (SELECT ts, dur, name FROM spans WHERE spans.track = track.track AND ts < :t1 ORDER BY ts DESC, id DESC LIMIT 1) AS last
ORDER BY track;
