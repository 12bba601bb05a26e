package faultproxy

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fault is what happens to a request. The zero Fault is none.
type Fault struct {
	name   string
	amid   func()        // called when it has come, before anything else
	hold   time.Duration // before it is passed on
	before func()        // called instead of passing it on
	code   int           // answered instead of passing it on
	times  int           // how often it is passed on
	after  func()        // called when it has been answered
	cut    bool          // the connection, instead of an answer
	life   time.Duration // of a watch; zero: as long as both sides like
}

func (f Fault) String() string { return f.name }

// Lost passes the request on and cuts the connection instead of answering.
func Lost() Fault { return Fault{name: "lost answer", times: 1, cut: true} }

// Repeated passes the request on twice and hands on the second answer.
func Repeated() Fault { return Fault{name: "repeated", times: 2} }

// Cut cuts the connection, and with it all other requests on it.
func Cut() Fault { return Fault{name: "cut", cut: true} }

// Held holds the request back for a time and then passes it on. A write is passed on
// whether or not its client still waits.
func Held(d time.Duration) Fault { return Fault{name: "held back", hold: d, times: 1} }

// LateWrite calls crash, which ends the client, holds its request back for a time, and
// then passes it on: it takes effect when others do what the client did before.
func LateWrite(d time.Duration, crash func()) Fault {
	return Fault{name: "late write", amid: crash, hold: d, times: 1}
}

// StoppedAt calls stop, which keeps the client from going on, and passes its request on.
func StoppedAt(stop func()) Fault { return Fault{name: "stopped at a write", amid: stop, times: 1} }

// Answered answers in place of the API server, which hears nothing of it.
func Answered(code int) Fault { return Fault{name: fmt.Sprint("answered ", code), code: code} }

// Shortened ends a watch after a time, as the API server may at any moment. One whose
// continuation is then answered 410 (Gone) never hears of what was only so meanwhile.
func Shortened(life time.Duration) Fault { return Fault{name: "watch ended", times: 1, life: life} }

// CrashBefore calls crash, which ends the client, in place of passing the request on.
func CrashBefore(crash func()) Fault { return Fault{name: "crash before", before: crash, cut: true} }

// CrashAfter passes the request on and calls crash, which ends the client, when the
// API server has answered and the client does not know it yet.
func CrashAfter(crash func()) Fault {
	return Fault{name: "crash after", times: 1, after: crash, cut: true}
}

// Script says which fault meets a request. It is called for one request at a time.
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

// Sometimes plays one of the faults on about one of so many requests of a kind.
// Which one meets which request depends on the seed and the request's number alone.
func Sometimes(seed uint64, kind Kind, oneOf int, faults ...Fault) Script {
	return func(r Request) Fault {
		random := rand.New(rand.NewChaCha8(keyOf(seed, r)))
		if r.Kind == kind && random.IntN(oneOf) == 0 {
			return faults[random.IntN(len(faults))]
		}
		return Fault{}
	}
}

// keyOf tells the requests of a seed apart.
func keyOf(seed uint64, r Request) [32]byte {
	var key [32]byte
	for i, part := range []uint64{seed, uint64(r.Kind), uint64(r.Number)} {
		binary.LittleEndian.PutUint64(key[8*i:], part)
	}
	return key
}

// FirstOf asks scripts in turn until one has a fault.
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
