// Package observe turns what the API server tells into plan.Snapshots, from
// caches or by a live read, and says which group an event concerns.
//
//	watch ──trim──► cache of own small records ──► Cached(key) ──► plan.Snapshot
//	                        │              Live(key), LiveUnder(key, hold) ──►
//	                        └── changed? ──► key of one group
//
// Objects are converted the moment they arrive, so a cache holds what decisions
// read and nothing else, and "did anything that matters change" compares the
// very values that the planner will see. It reads and never writes.
package observe
