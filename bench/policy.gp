# One picture for each measure, over the rows inserted. policy.sh sets csv, folder and flushes.
set terminal svg size 720,420 font "sans,11" background "white"
set datafile separator ","
set key outside right noenhanced
set xlabel "rows inserted"
set format x "%.0s%c"
set grid

orders = '"in order" "late" "in any order"'
# what is drawn: the column of the file, the name of the picture, the label
names = "runs written most_work"
labels = '"runs" "times a page is written" "most pages written by one flush so far"'
do for [m = 1:3] {
	set output sprintf("%s/policy_%s.svg", folder, word(names, m))
	set ylabel word(labels, m)
	plot for [flush in flushes] for [o in orders] csv \
		using (strcol(1) eq o && strcol(2) eq flush ? $3 : 1/0):(column(m + 3)) with lines title sprintf("%s, %s a flush", o, flush)
}
