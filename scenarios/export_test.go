package scenarios

// Acceptable is for tests that can import reproducer/result.
var Acceptable = acceptable

// BondModes and HashPolicies are what the two fields take.
var BondModes, HashPolicies = bondModes, hashPolicies
