package faultproxy

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fault is what the proxy does to a request. The zero Fault changes nothing.
type Fault struct {
	name   string
	amid   func()        // called when the request has come, before anything else
	hold   time.Duration // before it is passed on
	before func()        // called instead of passing it on
	code   int           // answered instead of passing it on
	times  int           // how often it is passed on
	after  func()        // called when it has been answered
	cut    bool          // cuts the connection instead of answering
	life   time.Duration // of a watch; zero: unlimited
}

func (f Fault) String() string { return f.name }

// Lost passes the request on and cuts the connection instead of answering.
func Lost() Fault { return Fault{name: "lost answer", times: 1, cut: true} }

// Repeated passes the request on twice and returns the second answer.
func Repeated() Fault { return Fault{name: "repeated", times: 2} }

// Cut cuts the connection, and with it all other requests on it.
func Cut() Fault { return Fault{name: "cut", cut: true} }

// Held holds the request back for a time and then passes it on. A write is passed on even if its
// client has disconnected.
func Held(d time.Duration) Fault { return Fault{name: "held back", hold: d, times: 1} }

// LateWrite calls crash, which ends the client, holds its request back for a time, and then passes
// it on. The write takes effect while another process does the work of the client.
func LateWrite(d time.Duration, crash func()) Fault {
	return Fault{name: "late write", amid: crash, hold: d, times: 1}
}

// StoppedAt calls stop, which stops the client, and passes its request on.
func StoppedAt(stop func()) Fault { return Fault{name: "stopped at a write", amid: stop, times: 1} }

// Answered answers instead of the API server, which does not receive the request.
func Answered(code int) Fault { return Fault{name: fmt.Sprint("answered ", code), code: code} }

// RefusedAfter holds a request back and then answers it instead of the API server.
func RefusedAfter(d time.Duration, code int) Fault {
	return Fault{name: fmt.Sprintf("answered %d late", code), hold: d, code: code}
}

// Shortened ends a watch after a time, as the API server may do at any time. If the next watch is
// answered 410 (Gone), its client never receives the states in between.
func Shortened(life time.Duration) Fault { return Fault{name: "watch ended", times: 1, life: life} }

// CrashBefore calls crash, which ends the client, instead of passing the request on.
func CrashBefore(crash func()) Fault { return Fault{name: "crash before", before: crash, cut: true} }

// CrashAfter passes the request on. When the API server has answered, and before the client
// receives the answer, it calls crash, which ends the client.
func CrashAfter(crash func()) Fault {
	return Fault{name: "crash after", times: 1, after: crash, cut: true}
}

// Script returns the fault for a request. It is called for one request at a time.
type Script func(Request) Fault

// At plays a fault on one write, counted from 1.
func At(write int, f Fault) Script {
	return func(r Request) Fault {
		if r.Kind == Write && r.Number == write {
			return f
		}
		return Fault{}
	}
}

// Sometimes plays one of the faults on about one in oneOf requests of a kind. The fault of a
// request depends only on the seed and the request's kind and number.
func Sometimes(seed uint64, kind Kind, oneOf int, faults ...Fault) Script {
	return func(r Request) Fault {
		random := rand.New(rand.NewChaCha8(keyOf(seed, r)))
		if r.Kind == kind && random.IntN(oneOf) == 0 {
			return faults[random.IntN(len(faults))]
		}
		return Fault{}
	}
}

// keyOf returns a key that differs between the requests of a seed.
func keyOf(seed uint64, r Request) [32]byte {
	var key [32]byte
	for i, part := range []uint64{seed, uint64(r.Kind), uint64(r.Number)} {
		binary.LittleEndian.PutUint64(key[8*i:], part)
	}
	return key
}

// FirstOf calls scripts in turn until one returns a fault.
func FirstOf(scripts ...Script) Script {
	return func(r Request) Fault {
		for _, script := range scripts {
			if f := script(r); f.name != "" {
				return f
			}
		}
		return Fault{}
	}
}
