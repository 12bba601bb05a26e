// Package budgets watches the ZoneAwarePodDisruptionBudgets of all namespaces and caches
// them.
//
//	watch ──► object, raw ──first call──► contract.Budget ──► Budgets(namespace)
//	  ▲  │         └─ changed ──► notifications, by namespace ──► listeners
//	  │  └ 404: the kind does not exist   403: logged and retried
//	CRD changed, back-off
//
// The kind can be created, deleted and created again while the process runs. The cache stays valid
// for a short time while it cannot be refreshed. After that, Known returns false. The package
// reads and never writes.
package budgets
