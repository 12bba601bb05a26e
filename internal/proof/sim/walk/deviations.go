package walk

// Deviations are mistakes in the code that the walk implements itself. Tests use them to show that the
// judge detects mistakes. The zero Deviations behave like lockstep and the API server.
type Deviations struct {
	LeaseWrittenLate    bool // the Lease is written after the deletes
	UpscaleFirst        bool // replicas are added before deletes
	Unconditional       bool // deletes have no preconditions
	Unpinned            bool // evictions are not bound to pods
	Overwriting         bool // Lease writes have no preconditions
	Unconfirmed         bool // caches are not checked again after live reads
	Unverified          bool // StatefulSets are not read before a disruption
	NoTimers            bool // no timer fires
	NeedlessReconciles  bool // groups are reconciled periodically without a reason
	AbsentZonesIgnored  bool // zones that left are ignored
	BarePodsNotReviewed bool // evictions of pods that caches show as bare pods are not reviewed
	OwnRecordKept       bool // a process that forgets a group still takes its last record for its own
	FastClocks          bool // steady clocks run at three times the true rate
}
