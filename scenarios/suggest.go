package scenarios

import "strings"

// nearest is the candidate that word is most likely a misspelling of, or "".
func nearest(word string, candidates []string) string {
	best, least := "", len(word)/3+1
	for _, c := range candidates {
		if strings.EqualFold(c, word) {
			return c
		}
		if len(c) > 2*len(word)+2 || len(word) > 64 {
			continue
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// didYouMean is "; did you mean X?" or "".
func didYouMean(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// editDistance is the number of bytes to insert, delete, change or swap with their neighbour between a and b
// (optimal string alignment).
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
