package walk

// Rules changes what the walk itself implements, so that tests can check that the judge
// detects it. The zero Rules behave like lockstep and the API server.
type Rules struct {
	NotedLate     bool // the Lease is written after the deletes
	RaisedFirst   bool // replicas are added before deletes
	Unconditional bool // deletes have no preconditions
	Unpinned      bool // evictions are not bound to pods
	Overwriting   bool // the Lease is written whatever its version
	Unconfirmed   bool // caches are not checked again after reads
	Unverified    bool // StatefulSets are not read before pods are disrupted
	Sleepy        bool // no timer fires
	Restless      bool // groups are reconciled again without a reason
	Blind         bool // zones that left are ignored
	Trusting      bool // pods that caches show as strangers are evicted without a webhook
	HastyClocks   bool // steady clocks run at three times the true rate
}
