// Command clocks prints what its clocks say: how far the wall clock has come while a
// timer of a second went, how much has passed by the steady one, and the date before.
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
