package ondevice

// Loop is the loop of programs, which the benchmarks time alone.
var Loop = loop
