"""The page that people open: one HTML file with everything inside, of runs, comparisons and reproductions."""
