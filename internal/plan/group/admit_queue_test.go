package group_test

// firstCome has cases with places in the queue.
var firstCome = map[string]admission{
	"the zone that was refused first comes first": {`
		hold free
		  waiting downscale/zone-b since 20s seen 5s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"QueuedBehindOtherZone zone-b (downscale)"},
	"a zone without a recent request loses its place": {`
		hold free
		  waiting downscale/zone-b since 1m seen 35s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"the zone that has waited longest is admitted": {`
		hold free
		  waiting downscale/zone-a since 25s seen 5s
		  waiting downscale/zone-b since 20s seen 5s
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
}
