"""One file a benchmark, called as the benchmark: it declares BENCHMARK. docs/decisions.md, 11 to 16, says why so."""
