package group_test

// minimumTimes has cases about the minimum time between downscales.
var minimumTimes = map[string]admission{
	"another zone was scaled down less than the minimum time ago": {`
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1 downscaled=59m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"the minimum time of the other zone counts as well": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1 minBetween=1h downscaled=59m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"a minimum time that is just over has passed": {`
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1 downscaled=1h
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"the time that the hold records of the last downscale counts as well": {`
		hold free
		  downscaled zone-b 10m ago
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1 downscaled=2h
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"the zone's own last downscale does not count": {`
		zone-a rev=1 minBetween=1h downscaled=1m
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"a pod that is not ready is removed although another zone is unavailable": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=1
		  zone-b-0 starting@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"the minimum time applies to a pod that is not ready, since it may become ready": {`
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=1 downscaled=1m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"the time of a downscale of a pod that is not ready is recorded, whatever operation has the hold": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, dated"},
	"a pod that is not ready is not removed while an admitted downscale of another zone may take effect": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"a pod that is not ready is not removed while a downscale of another zone is prepared": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 preparing since=1s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1 minBetween=1h
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"a pod that is not ready is not removed while caches are behind the record of another downscale": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted version=99 since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"a pod that is not ready is removed while a preparation of another zone is undone": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 undoing calls since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2`,
		"yes, dated"},
	"a pod that is not ready is removed after the update of another zone came too late": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted calls version=9 since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes, dated"},
	"a pod that is not ready is removed if neither zone has a minimum time": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1
		zone-c rev=1 minBetween=1h
		  zone-c-0 ready@1`,
		"yes, dated"},
	"a missing zone with a recorded downscale may have been scaled down": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"DownscaleTooSoon (after a zone that left the group)"},
	"no time is recorded for a downscale of an object that has changed": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h version=11
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"ObjectChanged zone-a"},
	"a pod that is not ready is not removed within the minimum time": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1 downscaled=1m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"a time in the future blocks no zone without a minimum time": {`
		hold free
		  downscaled zone-b -30s ago
		  downscaled zone-x -30s ago
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1
		zone-c rev=1 minBetween=1h
		  zone-c-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"a hold that cannot be read refuses a downscale of a pod that is not ready with a minimum time": {`
		hold rollout/zone-b unreadable=damaged
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"HoldUnreadable"},
	"a hold that cannot be read refuses a downscale of a pod that is not ready without a minimum time": {`
		hold rollout/zone-b unreadable=damaged
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"HoldUnreadable"},
	"a downscale of a missing zone counts, since the zone may be recreated": {`
		hold free
		  downscaled zone-c 1m ago
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"DownscaleTooSoon (after a zone that left the group)"},
	"a zone that was recreated during a downscale counts as scaled down": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted uid=former version=9
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
}
