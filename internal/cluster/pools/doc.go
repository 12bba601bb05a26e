// Package pools reads StatefulClusters, their pods and their claims: from watches, or live. It runs only while the kind
// is enabled, and sees only objects with the labels of the kind.
package pools
