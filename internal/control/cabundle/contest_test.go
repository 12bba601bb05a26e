package cabundle_test

import (
	"testing"
	"time"
)

// rival writes its own CA wherever ours is, at once, as long as that goes on.
func (p *post) rival(name string, goesOn time.Duration) {
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

func TestTwoInjectorsDoNotAnswerEachOtherForEver(t *testing.T) {
	atPost(t, nil, func(p *post) {
		p.apply(mutating, "x", asksFormer, "theirs")
		p.rival("x", 10*time.Minute)
		if n := len(p.patches()); n < 20 || n > 26 { // five at once, and then every half minute
			p.Errorf("it was written %d times in ten minutes", n)
		}
		if got := p.lines.LastEntry(); got == nil || got.Data["configuration"] != "MutatingWebhookConfiguration x" {
			p.Errorf("nobody is told: %v", got)
		}
		time.Sleep(time.Minute)
		p.wants(mutating, "x", "A")
	})
}

func TestARivalKeepsNeitherAnotherConfigurationNorANewCAWaiting(t *testing.T) {
	atPost(t, nil, func(p *post) {
		p.apply(mutating, "x", asksFormer, "theirs")
		p.rival("x", 45*time.Second)
		p.wants(mutating, "x", "theirs")
		p.apply(mutating, "y", asks, "")
		p.wants(mutating, "y", "A")
		p.certify("AB")
		p.wants(mutating, "x", "AB")
		p.change(mutating, "x", func(*configuration) bool { return false })
		p.apply(mutating, "x", asksFormer, "theirs")
		p.wants(mutating, "x", "AB")
	})
}
