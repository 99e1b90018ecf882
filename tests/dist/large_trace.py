#!/usr/bin/env python3
"""Writes a Chrome JSON trace of at least SIZE bytes: real traces, again and again, one behind the other in time.

    tests/dist/large_trace.py SIZE FILE TRACE.json.gz...
"""
import gzip
import json
import sys


def events_of(path):
    with gzip.open(path) as file:
        trace = json.load(file)
    return [event for event in (trace['traceEvents'] if isinstance(trace, dict) else trace) if isinstance(event, dict)]


def main(size, target, paths):
    traces = [events_of(path) for path in paths]
    written, start = 0, 0.0
    with open(target, 'w', encoding='utf-8') as file:
        file.write('[\n')
        for n in range(1000):
            events = traces[n % len(traces)]
            times = [event['ts'] for event in events if isinstance(event.get('ts'), (int, float)) and event.get('ph') != 'M']
            first = min(times)
            for event in events:
                if event.get('ph') == 'M' and n >= len(traces):
                    continue
                event = dict(event)
                if isinstance(event.get('ts'), (int, float)):
                    event['ts'] = round(event['ts'] - first + start, 3)
                for name in ('id', 'bind_id'):
                    if name in event:
                        event[name] = f'{event[name]} {n}'
                written += file.write(('' if written == 0 else ',\n') + json.dumps(event))
            start += max(times) - first + 1000
            if written >= size:
                break
        file.write('\n]\n')


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
