# A panel a work over the number of rows, a line a system, both logarithmic; the last panel is the key. report.js sets data,
# picture, label, works (panels) and systems (columns).
columns = 4
rows = (works + columns) / columns
set terminal svg size 1400, 60 + 240 * rows font "sans,10" background "white"
set output picture
set datafile separator "\t"
set logscale xy
set format x "10^{%L}"
set format y "10^{%L}"
set grid
set key off
set multiplot layout rows, columns
set ylabel label
do for [w = 0:works - 1] {
	stats data index w every ::0::0 using (name = strcol(1), 0) nooutput
	set title name noenhanced
	plot for [i = 2:systems + 1] data index w using 1:i with linespoints title columnhead(i) noenhanced
}
unset title; unset ylabel; unset tics; unset border; unset grid; unset logscale
set key center center noenhanced
set xrange [0:1]; set yrange [0:1]
plot for [i = 2:systems + 1] data index 0 using (NaN):(NaN) with linespoints title columnhead(i)
unset multiplot
