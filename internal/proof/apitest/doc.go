// Package apitest is what the API servers that tests play have in common: a
// client, and the form of an answer, a refusal, a watch. What such a server knows
// and agrees to stays with the test that plays it. It stands beside the house:
// only tests import it.
package apitest
