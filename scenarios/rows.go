package scenarios

// Rows are the cases that these arms are measured on in place of the scenario's own arms, as Compared makes them.
func (s Scenario) Rows(arms Variants) Variants {
	if s.Arms.touch(arms) {
		return s.Cases
	}
	return s.Arms.times(s.Cases)
}
