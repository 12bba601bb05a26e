package cabundle_test

import (
	"testing"
	"time"
)

// contender replaces the CA of lockstep with its own after every write, until it is stopped.
func (p *injector) contender(name string, goesOn time.Duration) {
	p.Helper()
	for end := time.Now().Add(goesOn); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if p.bundles(mutating, name)[0] == "theirs" {
			continue
		}
		p.change(mutating, name, func(c *configuration) bool {
			c.Webhooks[0].ClientConfig.CABundle = []byte("theirs")
			return true
		})
	}
}

func TestTwoInjectorsPauseBetweenOverwrites(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", predecessorLabels, "theirs")
		p.contender("x", 10*time.Minute)
		if n := len(p.patches()); n < 20 || n > 26 { // five at once, and then one every half minute
			p.Errorf("it was written %d times in ten minutes", n)
		}
		if got := p.lines.LastEntry(); got == nil || got.Data["configuration"] != "MutatingWebhookConfiguration x" {
			p.Errorf("no writer is reported: %v", got)
		}
		time.Sleep(time.Minute)
		p.wants(mutating, "x", "A")
	})
}

func TestContestDelaysNoOtherConfigurationAndNoNewCA(t *testing.T) {
	withInjector(t, nil, func(p *injector) {
		p.apply(mutating, "x", predecessorLabels, "theirs")
		p.contender("x", 45*time.Second)
		p.wants(mutating, "x", "theirs")
		p.apply(mutating, "y", requestsCA, "")
		p.wants(mutating, "y", "A")
		p.certify("AB")
		p.wants(mutating, "x", "AB")
		p.change(mutating, "x", func(*configuration) bool { return false })
		p.apply(mutating, "x", predecessorLabels, "theirs")
		p.wants(mutating, "x", "AB")
	})
}
