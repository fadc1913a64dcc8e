// Package compare measures arms of one scenario in turns and says what can be said about their differences.
//
//   - Arms makes the arms of KEY=VALUE settings, checked before anything is measured.
//   - Order plans when each arm is measured. Pure.
//   - Run measures as planned on a Bench and compares; Files compares what was stored.
//   - Sweep measures a scenario over one or two parameters, Search looks for the highest value that a condition holds at.
//
// Where an arm is measured is a Bench's business: Sessions is that of package reproducer.
package compare
