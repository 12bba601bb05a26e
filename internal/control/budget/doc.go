// Package budget tells what becomes of budgets for evictions: it writes the status of
// each into the object itself, whenever something else is to be said.
//
//	event of a group or a budget ──► namespace ──► plan.ReportBudgets ──► status, if another
//
//	eviction answered, on any replica ──► Decisions ──► status.lastDecision, now and then
//
// What it says is what evictions would be told, from caches. It promises nothing: the
// next eviction is judged anew.
package budget
