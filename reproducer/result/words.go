package result

import "fmt"

// Plural is "1 TX queue", "8 TX queues".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
