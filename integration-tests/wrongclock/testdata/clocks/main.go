// Command clocks prints its clocks: how far the wall clock advanced during a timer of one second,
// how much time passed by the monotonic clock, and the date at the start.
package main

import (
	"fmt"
	"time"
)

func main() {
	began := time.Now()
	<-time.After(time.Second)
	ended := time.Now()
	fmt.Println(ended.Round(0).Sub(began.Round(0)).Milliseconds(), time.Since(began).Milliseconds(), began.Unix())
}
