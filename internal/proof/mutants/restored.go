package mutants

// restored are mutants about records and versions of another history.
var restored = []Mutant{
	{
		Name:  "intent of another history that counts forever",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case s.Live && s.behindIntent(i):", "case false && s.behindIntent(i):"}},
		Test:  scenarios + "intent-ahead-of-live-read-ends-if-pod-has-another-uid", Rule: "the intent predates a restore",
	},
	{
		Name:  "intent of another history that counts forever, detected by the explorer",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case s.Live && s.behindIntent(i):", "case false && s.behindIntent(i):"}},
		Test:  explore + "a restored Lease and a rollout of its zone", Rule: "Progress",
	},
	{
		Name:  "intent that ends because a cache is late",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case s.Live && s.behindIntent(i):", "case s.behindIntent(i):"}},
		Test:  scenarios + "intent-newer-than-caches-counts-for-10s", Rule: "late caches cannot be distinguished",
	},
	{
		Name:  "intent of another history that ends while a delete of the same pod may still arrive",
		Edits: []Edit{{planRestored, "(pod.Phase == plan.Terminating || i.Known < plan.GrantLimit)", "pod.Phase == plan.Terminating"}},
		Test:  scenarios + "intent-from-before-restore-counts-while-its-delete-may-arrive", Rule: "while its delete request may still arrive",
	},
	{
		Name:  "intent that caches never reach and that triggers no live read",
		Edits: []Edit{{planRestored, "b.behindIntent(i) && i.Known < b.patienceWithIntent(i)", "b.behindIntent(i)"}},
		Test:  scenarios + "intent-ahead-of-caches-for-10s-triggers-live-read", Rule: "whether it predates a restore",
	},
	{
		Name:  "live read for an intent although caches may only be late",
		Edits: []Edit{{planRestored, "b.behindIntent(i) && i.Known < b.patienceWithIntent(i)", "false"}},
		Test:  scenarios + "intent-newer-than-caches-counts-for-10s", Rule: "late caches cannot be distinguished",
	},
	{
		Name:  "downscale of another history that counts forever",
		Edits: []Edit{{planRestored, "	case !s.Live:\n		return Unseen\n", "	case true:\n		return Unseen\n"}},
		Test:  scenarios + "downscale-from-before-restore-ends-if-no-pod-was-called", Rule: "it predates a restore and ends",
	},
	{
		Name:  "downscale that ends because a cache is late",
		Edits: []Edit{{planRestored, "	case !s.Live:\n		return Unseen\n", ""}},
		Test:  scenarios + "downscale-newer-than-caches-counts-for-10s", Rule: "late caches cannot be distinguished",
	},
	{
		Name:  "preparation of another history that is never undone",
		Edits: []Edit{{planRestored, "case !b.Live, b.ended, !exists:", "case !b.Live, b.ended, !exists, true:"}},
		Test:  scenarios + "preparation-from-before-restore-is-undone-at-current-version", Rule: "at the zone's current version",
	},
	{
		Name:  "end of a downscale of another history that caches never confirm",
		Edits: []Edit{{confirm, "if a.Restored && h.Downscale.Same(a.Downscale)", "if false && h.Downscale.Same(a.Downscale)"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead", Rule: "got false, want true",
	},
	{
		Name:  "live read of an older Lease that is not detected as a restore",
		Edits: []Edit{{store, "lease.ResourceVersion, before); err != nil {", "lease.ResourceVersion, before*0); err != nil {"}},
		Test:  "internal/lock/lease TestALiveReadThatIsOlderThanAKnownVersionShowsARestore", Rule: "want that version 101 is shown",
	},
	{
		Name:  "live read of a Lease compared with a version that was learned after it began",
		Edits: []Edit{{store, "lease.ResourceVersion, before); err != nil {", "lease.ResourceVersion, s.newest(key).version); err != nil {"}},
		Test:  "internal/lock/lease TestNoOrdinaryReadShowsARestore", Rule: "etcd was restored",
	},
	{
		Name:  "restore not detected while no group is reconciled",
		Edits: []Edit{{leaseRestored, "return s.checkVersion(\"Leases\", list.ResourceVersion, known)", "return s.checkVersion(\"Leases\", list.ResourceVersion, known*0)"}},
		Test:  "internal/lock/lease TestARestoreIsNoticedWithinAMinuteWithoutAnyWork", Rule: "want that a restore is noticed",
	},
	{
		Name:  "downscale reverted by a restore that counts as lockstep's own",
		Edits: []Edit{{planRestored, "d.UID, d.Version, d.Generation, d.Ours = z.UID, z.Version, 0, false", "d.UID, d.Version, d.Generation = z.UID, z.Version, 0"}},
		Test:  "internal/plan/group TestADownscaleThatARestoreTookBackIsNoLongerLockstepsOwn", Rule: "it is recorded as lockstep's",
	},
	{
		Name:  "unbound grant of another history that triggers a live read before it lapses",
		Edits: []Edit{{planRestored, "i.Unbound || present && pod.UID == i.UID {", "present && pod.UID == i.UID {"}},
		Test:  "internal/plan/group TestAnUnboundGrantThatCachesDoNotReachIsReadLiveOnceItHasLapsed/granted unbound known=4s", Rule: "woken after 6s, want 1m6s",
	},
}
