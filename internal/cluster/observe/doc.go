// Package observe converts the state of the API server into group.Snapshots, from caches or by a
// live read. It also returns the group that an event concerns.
//
//	watch ──trim──► cache of small records ──► Cached(key) ──► group.Snapshot
//	                        │        Live(key), LiveUnder(key, hold) ──►
//	                        └── changed? ──► key of one group
//
// Objects are converted when they arrive. Therefore a cache holds only what decisions read, and
// the test whether an object has changed compares the same values that the planner sees. The
// package reads and never writes.
package observe
