// Package house holds the rules of the house as tests: which room may import which, who starts processes, and
// who touches the system. docs/architecture.md draws the same in words.
package house
