// Package budget writes the status of each budget for evictions into the object itself, whenever
// it changes.
//
//	event of a group or a budget ──► namespace ──► group.ReportBudgets ──► status, if it differs
//
//	eviction answered, on any replica ──► Decisions ──► status.lastDecision, at intervals
//
// The status shows, from caches, how evictions would be answered. It is no promise: the next
// eviction is judged again.
package budget
