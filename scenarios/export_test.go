package scenarios

// Acceptable is for tests that can import reproducer/result.
var Acceptable = acceptable
