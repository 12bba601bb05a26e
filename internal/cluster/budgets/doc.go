// Package budgets knows the ZoneAwarePodDisruptionBudgets of every namespace, by
// watching them.
//
//	watch ──► object, raw ──first asked──► contract.Budget ──► Budgets(namespace)
//	  ▲  │         └─ another one ──► news, by namespace ──► listeners
//	  │  └ 404: no such kind   403: said, and tried again
//	CRD changed, back-off
//
// The kind may come, go and come back while the process runs. What is known stands
// while it cannot be read again, but not for long: who asks whether the budgets are
// Known hears then that they are not. It reads and never writes.
package budgets
