package group_test

// minimumTimes has cases about the minimum time between downscales.
var minimumTimes = map[string]admission{
	"another zone shrank less than the minimum time ago": {`
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
		"yes, noted zone-a from 3 to 2 admitted"},
	"what the hold knows of the last downscale counts as well": {`
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
		"yes, noted zone-a from 3 to 2 admitted"},
	"who is down leaves although another zone is not whole": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=1
		  zone-b-0 starting@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"who is down keeps the minimum time as well, since he may come up": {`
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=1 downscaled=1m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"and tells when the zone shrank whoever has the hold, or nobody would know": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, dated"},
	"but not while another zone may shrink at any moment": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"nor while that is prepared": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 preparing since=1s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1 minBetween=1h
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"nor while the caches are behind the note of that": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted version=99 since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"it waits for no preparation that is undone": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 undoing calls since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2`,
		"yes, dated"},
	"nor for one that came too late": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted calls version=9 since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes, dated"},
	"nor where neither of the two asks for time": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1
		zone-c rev=1 minBetween=1h
		  zone-c-0 ready@1`,
		"yes, dated"},
	"a zone that is gone may have shrunk before anybody has written it": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted since=1s
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"DownscaleTooSoon (after a zone that left the group)"},
	"a time is noted of what can come": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h version=11
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"ObjectChanged zone-a"},
	"but not too soon": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1 downscaled=1m
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
	"a time that lies ahead keeps nobody where no time is asked for": {`
		hold free
		  downscaled zone-b -30s ago
		  downscaled zone-x -30s ago
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1
		zone-c rev=1 minBetween=1h
		  zone-c-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"nor where the hold cannot be read": {`
		hold rollout/zone-b unreadable=damaged
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"HoldUnreadable"},
	"a hold that cannot be read refuses a downscale of a pod that is down without a minimum time": {`
		hold rollout/zone-b unreadable=damaged
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"HoldUnreadable"},
	"a zone that shrank and is gone counts, since it may be made anew": {`
		hold free
		  downscaled zone-c 1m ago
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"DownscaleTooSoon (after a zone that left the group)"},
	"a zone that is made anew amid a downscale shrank, as far as anybody knows": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted uid=former version=9
		zone-a rev=1 minBetween=1h
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"DownscaleTooSoon zone-b"},
}
