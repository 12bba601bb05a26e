package walk

// Rules bends what is not the planner's, the hold's or freshness' own, so that tests can
// see the judge notice. The zero Rules are lockstep's and the API server's.
type Rules struct {
	NotedLate     bool // the Lease is written after the deletes
	RaisedFirst   bool // replicas are added before deletes
	Unconditional bool // deletes carry no preconditions
	Unpinned      bool // evictions are not bound to pods
	Overwriting   bool // the Lease is written whatever it says
	Unconfirmed   bool // caches are not asked again after a look
	Sleepy        bool // no timer rings
	Restless      bool // whoever has no reason to look again does
	Blind         bool // zones that left are not looked for
	HastyClocks   bool // steady clocks go at three times the pace
}
