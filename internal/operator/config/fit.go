package config

import (
	"fmt"
	"time"
)

const (
	// shortLife is the lifetime of a certificate below which lockstep warns.
	shortLife = time.Hour
	// propagationShare is the part of a certificate's life that the propagation of its CA
	// may take. A renewal begins when a third of the life is left. It serves the new
	// certificate after at most three times the propagation, and drops the old CA after
	// three times more.
	propagationShare = 15
)

// fit shortens valid values that the predecessor accepts but that would not work in lockstep. It
// returns a warning for each.
func (t *table) fit(c *Config) []Warning {
	return append(t.fitPropagation(&c.ServerTLS), t.fitPodTimeout(c)...)
}

// fitPropagation shortens the default of the propagation to fit the lifetime of a certificate.
func (t *table) fitPropagation(s *ServerTLS) []Warning {
	life := t.option("server-tls.self-signed-cert.expiration")
	propagation := t.option("server-tls.self-signed-cert.propagation")
	own := &s.SelfSigned
	if _, said := t.found[propagation]; !said {
		own.Propagation = min(own.Propagation, own.mostPropagation())
	}
	from, said := t.found[life]
	if !said || !s.Enabled || s.OwnFiles() || own.Expiration >= shortLife {
		return nil
	}
	return []Warning{{from.name, fmt.Sprintf("%v is short: API servers have %v to read a new CA (-%s); except in tests, set %v or more",
		own.Expiration, own.Propagation, propagation.name, shortLife)}}
}

// mostPropagation returns the longest propagation that fits the lifetime of a certificate.
func (s SelfSigned) mostPropagation() time.Duration {
	return (s.Expiration / propagationShare).Truncate(time.Millisecond)
}

// fitPodTimeout shortens the timeout of calls to pods if it exceeds that of the review that waits
// for them.
func (t *table) fitPodTimeout(c *Config) []Warning {
	asked, most := c.Pods.Timeout, c.ServerTLS.RequestTimeout*9/10
	if asked > 0 && (!c.ServerTLS.Enabled || asked < c.ServerTLS.RequestTimeout) {
		return nil
	}
	c.Pods.Timeout = most
	timeout := t.option("pods.client-timeout")
	from, said := t.found[timeout]
	if !said {
		from.name = "-" + timeout.name
	}
	what := asked.String()
	if asked == 0 {
		what = "no limit"
	}
	return []Warning{{from.name, fmt.Sprintf("%s is shortened to %v, 90%% of -server-tls.request-timeout: no webhook waits longer for a pod", what, most)}}
}
