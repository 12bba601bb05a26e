package group

// Stalled is stalled.
var Stalled = stalled

// Overruled is overruled.
var Overruled = overruled
