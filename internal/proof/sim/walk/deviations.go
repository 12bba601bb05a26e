package walk

// Deviations changes what the walk itself implements, so that tests can check that the judge
// detects it. The zero Rules behave like lockstep and the API server.
type Deviations struct {
	LeaseWrittenLate    bool // the Lease is written after the deletes
	UpscaleFirst        bool // replicas are added before deletes
	Unconditional       bool // deletes have no preconditions
	Unpinned            bool // evictions are not bound to pods
	Overwriting         bool // the Lease is written whatever its version
	Unconfirmed         bool // caches are not checked again after reads
	Unverified          bool // StatefulSets are not read before pods are disrupted
	NoTimers            bool // no timer fires
	NeedlessReconciles  bool // groups are reconciled again without a reason
	AbsentZonesIgnored  bool // zones that left are ignored
	BarePodsNotReviewed bool // pods that caches show as strangers are evicted without a webhook
	FastClocks          bool // steady clocks run at three times the true rate
}
