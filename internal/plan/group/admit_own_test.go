package group_test

// lockstepsOwn has cases with a downscale that lockstep itself recorded.
var lockstepsOwn = map[string]admission{
	"what lockstep has noted as its own needs no second note": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes"},
	"what lockstep has noted as its own and is not wanted any more is refused": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"what lockstep has noted as its own is refused once another zone is not whole": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 starting@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"what lockstep has noted as its own needs no second note while its update may be on its way": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own since=49s
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"yes"},
	"what lockstep has noted as its own long ago is refused: the note would date it too early": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted own since=50s
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"another decrease than lockstep's own is refused": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 1 admitted own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"ZoneShrinking (zone-a from 3 to 1 admitted)"},
	"what lockstep still prepares is refused": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 preparing own
		zone-a rev=1 leader=zone-b
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 preparing)"},
}
