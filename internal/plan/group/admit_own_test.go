package group_test

// lockstepsOwn has cases with a downscale that lockstep itself recorded.
var lockstepsOwn = map[string]admission{
	"a downscale that lockstep recorded needs no second record": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes"},
	"a downscale that lockstep recorded is refused once it is not requested any more": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"a downscale that lockstep recorded is refused once another zone is unavailable": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 starting@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"a downscale that lockstep recorded needs no second record while its update may be on its way": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own since=49s
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes"},
	"a downscale that lockstep recorded long ago is refused: its record would date it too early": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own since=50s
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"another downscale than the recorded downscale is refused": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 1 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"ZoneShrinking (zone-a from 3 to 1 admitted)"},
	"a downscale that lockstep still prepares is refused": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 preparing own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 preparing)"},
}
