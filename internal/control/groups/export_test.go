package groups

// Stalled exports stalled.
var Stalled = stalled

// WithFailures exports withFailures.
var WithFailures = withFailures
