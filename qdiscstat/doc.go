// Package qdiscstat reads the counters of qdiscs, interfaces and tc actions over rtnetlink. It only reads.
// The counters' types, differences and text are in package counters.
package qdiscstat
