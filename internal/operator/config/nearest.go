package config

// nearest returns the candidate that needs the fewest edits. It returns "" if more than a third
// of the word would have to change.
func nearest(word string, candidates []string) string {
	best, fewest := "", len(word)/3+1
	for _, candidate := range candidates {
		if n := edits(word, candidate); n < fewest {
			best, fewest = candidate, n
		}
	}
	return best
}

// edits returns the number of bytes to insert, delete or replace to get from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
