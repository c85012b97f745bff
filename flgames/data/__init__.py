"""What clients learn from: samples, benchmarks by name, and data that people bring."""
