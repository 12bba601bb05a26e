package pool

// index finds the pods and claims of a snapshot without a search. It is made once for each plan, of a copy that does not
// change.
type index struct {
	pods   map[string]int // by name; the first one
	lives  map[ID]bool    // identities whose label a pod has
	claims map[ID][]Claim // of the object
	former map[ID][]Claim // of other objects, such as an earlier one of the name
}

func indexOf(s *Snapshot) *index {
	x := &index{pods: make(map[string]int, len(s.Pods)), lives: make(map[ID]bool, len(s.Pods)), claims: make(map[ID][]Claim, len(s.Claims)), former: map[ID][]Claim{}}
	for i := range s.Pods {
		p := &s.Pods[i]
		if _, known := x.pods[p.Name]; !known {
			x.pods[p.Name] = i
		}
		x.lives[p.ID] = true
	}
	x.addClaims(s)
	return x
}

// addClaims keeps the claims of each identity in the order of the snapshot, and all of them in one array: most identities have
// one or two.
func (x *index) addClaims(s *Snapshot) {
	counts := make(map[ID]int, len(s.Claims))
	for i := range s.Claims {
		counts[s.Claims[i].ID]++
	}
	all, used := make([]Claim, len(s.Claims)), 0
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Pool != s.Object.UID {
			x.former[c.ID] = append(x.former[c.ID], *c)
			continue
		}
		of, known := x.claims[c.ID]
		if !known {
			of = all[used : used : used+counts[c.ID]]
			used += counts[c.ID]
		}
		x.claims[c.ID] = append(of, *c)
	}
}
