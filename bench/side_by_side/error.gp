# The error of a roll-up's sum over the length of the window. report.js sets data and picture.
set terminal svg size 720,420 font "sans,11" background "white"
set output picture
set datafile separator "\t"
set logscale xy
set xlabel "window, minutes"
set ylabel "error of the sum, %"
set key outside right
set grid
plot data using 1:3 with linespoints title "largest", data using 1:2 with linespoints title "median"
