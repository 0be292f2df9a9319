// Package spelling finds the word that may have been meant by one that is not known.
//
//	if i := spelling.Nearest("modle", keys); i >= 0 {
//		fmt.Printf("did you mean %q?", keys[i])
//	}
package spelling

import (
	"slices"
	"strings"
)

// Nearest is the index of the known word that is nearest to word, in any case of its letters, else of the first that begins
// with it; -1 when none is near.
func Nearest(word string, known []string) int {
	best, distance := -1, 2+min(len(word)/4, 3)
	for i, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < distance {
			best, distance = i, d
		}
	}
	if best >= 0 || len(word) < 3 {
		return best
	}
	return slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, strings.ToLower(word)) })
}

// editDistance is the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
