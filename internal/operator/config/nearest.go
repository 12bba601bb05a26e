package config

import "github.com/lockstep-dev/lockstep/internal/contract"

// nearest returns the candidate that needs the fewest edits. It returns "" if more than a third
// of the word would have to change.
func nearest(word string, candidates []string) string {
	best, fewest := "", len(word)/3+1
	for _, candidate := range candidates {
		if n := contract.EditDistance(word, candidate); n < fewest {
			best, fewest = candidate, n
		}
	}
	return best
}
