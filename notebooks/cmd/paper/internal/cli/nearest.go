package cli

import "strings"

// Nearest is the known name that takes the fewest changes of a character, not
// counting case, or "" where that would be half of them or more.
func Nearest(name string, known []string) string {
	best, least := "", (len(name)+1)/2
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the fewest insertions, deletions, replacements and swaps of
// neighbours of bytes that turn a into b, where no byte is changed twice.
func distance(a, b string) int {
	var before []int // the row of two bytes less of a
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
