package group

// Stalled is stalled.
var Stalled = stalled
