# Times of all works, a group of bars a work, a bar a system. report.js sets data, picture and n.
set terminal svg size 1400,700 font "sans,11" background "white"
set output picture
set datafile separator "\t"
set logscale y
set ylabel "ms"
set format y "10^{%L}"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set xtics rotate by -30 noenhanced
set key outside right noenhanced autotitle columnheader
set grid ytics
plot for [i = 2:n + 1] data using i:xtic(1)
