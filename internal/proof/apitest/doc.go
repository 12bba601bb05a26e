// Package apitest has the common parts of fake API servers in tests: a client, and the
// form of an answer, a refusal and a watch. The objects and the rules of such a server
// are in the test that uses it. Only tests import the package.
package apitest
