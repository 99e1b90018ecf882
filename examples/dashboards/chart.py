"""Charts as SVG: lines, stacked areas, heatmaps and tables, drawn from rows; the same rows give the same bytes."""
import datetime
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 270
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 56, 28
COLOURS = ('#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#76b7b2', '#b07aa1', '#edc948', '#9c755f', '#ff9da7', '#8cd17d', '#a0a8b4')
# light to dark: the cells of a heatmap
SHADES = ('#e3eef9', '#c3daee', '#94c4df', '#5ba3cf', '#2f7ebc', '#155ca3', '#08306b')
STYLE = ('text{font:11px Helvetica,Arial,sans-serif;fill:#57606a}.t{font-size:14px;font-weight:bold;fill:#24292f}.e{text-anchor:end}'
         '.m{text-anchor:middle}.g{stroke:#8c959f;stroke-opacity:.25}.l{fill:none;stroke-width:1.5;stroke-linejoin:round}'
         '.h{font-weight:bold}')


def short(value):
    """A number in a few digits, without a bare point."""
    return f'{value:.1f}'.rstrip('0').rstrip('.') or '0'


def shown(value, unit):
    """A number as the tools show it in that unit."""
    if unit == 'µs':
        for limit, divisor, name in ((1e3, 1, 'µs'), (1e6, 1e3, 'ms'), (math.inf, 1e6, 's')):
            if abs(value) < limit:
                return f'{value / divisor:.4g} {name}'
    if unit == 'percent':
        return f'{value:.3g} %'
    if unit == 'reqps':
        return f'{value:.3g} /s'
    return f'{value:,.0f}' if value == int(value) else f'{value:.3g}'


def seconds(value):
    """Seconds since 1970 of what a tool takes for a time: such a number, or a time of UTC written out."""
    try:
        return float(value)
    except ValueError:
        time = datetime.datetime.strptime(value[:19].replace('T', ' '), '%Y-%m-%d %H:%M:%S')
        return time.replace(tzinfo=datetime.timezone.utc).timestamp()


def clock(time):
    return datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime('%H:%M')


def ticks(top, n=5):
    """About n round numbers from 0 to top."""
    raw = top / n or 1
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if raw <= power * factor * 1.0001)
    return [step * i for i in range(int(top / step + 1.0001) + (1 if top / step % 1 > 1e-9 else 0))]


class Picture:
    def __init__(self, title, height=HEIGHT):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"><style>{STYLE}</style>',
                      '<rect width="100%" height="100%" fill="#fff"/>']
        self.text(12, 20, title, 't')

    def text(self, x, y, text, style=''):
        style = f' class="{style}"' if style else ''
        self.parts.append(f'<text x="{short(x)}" y="{short(y)}"{style}>{escape(str(text))}</text>')

    def line(self, x0, y0, x1, y1):
        self.parts.append(f'<path class="g" d="M{short(x0)} {short(y0)}L{short(x1)} {short(y1)}"/>')

    def legend(self, names, colours):
        x = LEFT
        for name, colour in zip(names, colours):
            self.parts.append(f'<rect x="{short(x)}" y="33" width="10" height="10" fill="{colour}"/>')
            self.text(x + 14, 42, name)
            x += 30 + 6.2 * len(name)

    def time_axis(self, first, last, height=HEIGHT):
        """The scale of the times, with a tick a whole hour or a part of one."""
        span = max(last - first, 1)
        step = next((s for s in (300, 600, 1800, 3600, 7200, 21600, 86400) if span / s <= 8), 86400 * 7)

        def x_of(time):
            return LEFT + (time - first) * (WIDTH - LEFT - RIGHT) / span
        for i in range(math.ceil(first / step), int(last / step) + 1):
            self.line(x_of(i * step), TOP, x_of(i * step), height - BOTTOM)
            self.text(x_of(i * step), height - 10, clock(i * step), 'm')
        return x_of

    def svg(self):
        return '\n'.join(self.parts + ['</svg>', ''])


def series_of(columns, rows, time, series, values):
    """{name: {seconds: number}}: a series for each value of the column `series`, or for each of the columns `values`."""
    found = {}
    at = columns.index
    for row in rows:
        for value in values:
            name = row[at(series)] if series else value
            if row[at(value)] is not None:
                found.setdefault(name, {})[seconds(row[at(time)])] = float(row[at(value)])
    return found


def lines(title, series, unit, is_logarithmic=False):
    picture = Picture(title)
    times = [time for points in series.values() for time in points]
    top = max(value for points in series.values() for value in points.values())
    x_of = picture.time_axis(min(times), max(times))
    if is_logarithmic:
        low = math.floor(math.log10(min(value for points in series.values() for value in points.values() if value > 0)))
        high = math.ceil(math.log10(top))
        marks = [10.0 ** i for i in range(low, high + 1)]

        def share(value):
            return (math.log10(max(value, marks[0])) - low) / max(high - low, 1)
    else:
        marks = ticks(top)

        def share(value):
            return value / marks[-1]

    def y_of(value):
        return HEIGHT - BOTTOM - share(value) * (HEIGHT - TOP - BOTTOM)
    for mark in marks:
        picture.line(LEFT, y_of(mark), WIDTH - RIGHT, y_of(mark))
        picture.text(LEFT - 6, y_of(mark) + 4, shown(mark, unit), 'e')
    for (name, points), colour in zip(series.items(), COLOURS):
        path = ' '.join(f'{short(x_of(time))} {short(y_of(value))}' for time, value in sorted(points.items()))
        picture.parts.append(f'<path class="l" stroke="{colour}" d="M{path}"/>')
    picture.legend(series, COLOURS)
    return picture.svg()


def areas(title, series, unit):
    """Series stacked on one another, the first at the bottom."""
    picture = Picture(title)
    times = sorted({time for points in series.values() for time in points})
    marks = ticks(max(sum(points.get(time, 0) for points in series.values()) for time in times))
    x_of = picture.time_axis(times[0], times[-1])

    def y_of(value):
        return HEIGHT - BOTTOM - value / marks[-1] * (HEIGHT - TOP - BOTTOM)
    for mark in marks:
        picture.line(LEFT, y_of(mark), WIDTH - RIGHT, y_of(mark))
        picture.text(LEFT - 6, y_of(mark) + 4, shown(mark, unit), 'e')
    below = dict.fromkeys(times, 0)
    for (_, points), colour in zip(series.items(), COLOURS):
        above = {time: below[time] + points.get(time, 0) for time in times}
        edge = [(time, above[time]) for time in times] + [(time, below[time]) for time in reversed(times)]
        path = ' '.join(f'{short(x_of(time))} {short(y_of(value))}' for time, value in edge)
        picture.parts.append(f'<path fill="{colour}" d="M{path}z"/>')
        below = above
    picture.legend(series, COLOURS)
    return picture.svg()


def heatmap(title, series):
    """A row of cells for each series, the first at the bottom; the more in a cell, the darker, by the root of it, as the dashboard has it."""
    picture = Picture(title)
    times = sorted({time for points in series.values() for time in points})
    step = min((b - a for a, b in zip(times, times[1:])), default=1)
    x_of = picture.time_axis(times[0], times[-1] + step)
    high = (HEIGHT - TOP - BOTTOM) / len(series)
    most = max(value for points in series.values() for value in points.values())
    cells = [''] * len(SHADES)
    for i, (name, points) in enumerate(series.items()):
        y = HEIGHT - BOTTOM - high * (i + 1)
        picture.text(LEFT - 6, y + high / 2 + 4, name, 'e')
        for time, value in sorted(points.items()):
            if value > 0:
                shade = min(int(math.sqrt(value / most) * len(SHADES)), len(SHADES) - 1)
                width = x_of(time + step) - x_of(time)
                cells[shade] += f'M{short(x_of(time))} {short(y)}h{short(width)}v{short(high)}h-{short(width)}z'
    picture.parts += [f'<path fill="{shade}" d="{path}"/>' for shade, path in zip(SHADES, cells) if path]
    bounds = [math.ceil((i / len(SHADES)) ** 2 * most) for i in range(len(SHADES))]
    picture.legend([('spans: ' if i == 0 else '') + f'from {max(bound, 1):,}' for i, bound in enumerate(bounds)], SHADES)
    return picture.svg()


def table(title, columns, rows, units):
    """Columns in their units; texts to the left, numbers to the right."""
    def cell(column, value):
        if value is None:
            return ''
        if column == 'time':
            return datetime.datetime.fromtimestamp(seconds(value), datetime.timezone.utc).strftime('%H:%M:%S')
        try:
            return shown(float(value), units.get(column, ''))
        except ValueError:
            return value
    cells = [[cell(column, value) for column, value in zip(columns, row)] for row in rows]
    picture = Picture(title, 62 + 17 * len(rows))
    width = (WIDTH - 24) / len(columns)
    for i, column in enumerate(columns):
        is_number = all(row[i] is None or row[i].replace('.', '', 1).replace('-', '', 1).isdigit() for row in rows)
        x, style = (12 + width * (i + 1) - 12, 'e') if is_number else (12 + width * i, '')
        picture.text(x, 44, column, f'h {style}'.strip())
        for j, row in enumerate(cells):
            picture.text(x, 63 + 17 * j, row[i], style)
    picture.line(12, 49, WIDTH - 12, 49)
    return picture.svg()
