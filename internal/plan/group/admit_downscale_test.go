package group_test

// downscalesBefore has cases with an earlier downscale of the same zone.
var downscalesBefore = map[string]admission{
	"a downscale of the same zone whose update is on its way comes first": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"a downscale that is overtaken is judged again": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted version=9
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"yes, recorded zone-a from 3 to 2 preparing, once zone-a-2 is prepared"},
	"a downscale that is overtaken by a smaller one has to be undone first": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 1 admitted version=9 calls
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"ZoneShrinking (zone-a from 3 to 1 admitted)"},
	"a pod that was prepared by another call is notified to stay first": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 admitted version=9 calls path=/former
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"ZoneShrinking (zone-a from 3 to 2 admitted)"},
	"no pod is prepared while others are notified that they stay": {`
		hold downscale/zone-a
		  downscale zone-a from 3 to 2 undoing version=9
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"PreparationCancelled"},
	"a downscale in effect is followed by the next": {`
		hold downscale/zone-a
		  downscale zone-a from 4 to 3 admitted version=9
		zone-a rev=1 replicas=3
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 terminating@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"a pod on the host network cannot be called": {`
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3 onHost=yes`,
		"PodOnHostNetwork zone-a-2"},
}
