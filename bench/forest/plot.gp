# One picture for each question, over the number of events. forest.sh sets csv and folder.
set terminal svg size 720,480 font "sans,11" background "white"
set datafile separator ","
set logscale xy
set key outside right noenhanced
set xlabel "events"
set format x "10^{%L}"
set grid

structures = '"textbook" "segment tree" "4-ary tree, pointers" "4-ary tree, implicit" "B-tree" "sparse table of 32s"' \
           . ' "forest, a leaf an event" "block forest of 128"'
# what is drawn: the column of the file, the name of the picture, the label
columns = "3 4 6 7 9 10 12 14 16"
names = "bytes build append worst_append fold batched whole part close"
labels = '"bytes an event" "ns an event to build" "ns an event, one by one" "ns of the worst append" "ns a random fold"' \
       . ' "ns a random fold, batched" "ns a pixel, whole, cold" "ns a pixel, 1/100, cold" "ns a pixel, 1/10000, cold"'

do for [p = 1:words(names)] {
	set output folder . "/forest_" . word(names, p) . ".svg"
	set ylabel word(labels, p)
	plot for [s = 1:words(structures)] csv using \
		(strcol(2) eq word(structures, s) ? column(1) : NaN):(column(int(word(columns, p)))) \
		with linespoints linewidth 2 title word(structures, s)
}
