package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	copies       = 3           // of each value, if there are as many members
	acknowledged = 2           // copies that a PUT waits for
	callTimeout  = time.Second // of a call to another member
	pullPeriod   = time.Second
)

// store keeps copies of values together with other members. The members with the highest scores for
// a key should have its value (rendezvous hashing), so few values move when members come and go. A
// member takes what it lacks from the others. It never deletes a value.
type store struct {
	name    string // of this member
	others  func(context.Context) (map[string]string, error)
	journal *journal
}

// findOthers returns a function that looks up the members of a headless Service: their addresses by
// their names.
func findOthers(service, self string) func(context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		found := map[string]string{}
		_, records, err := net.DefaultResolver.LookupSRV(ctx, "http", "tcp", service+".")
		if missing, is := errors.AsType[*net.DNSError](err); is && missing.IsNotFound {
			return found, nil // no member is ready
		}
		for _, record := range records {
			if name, _, _ := strings.Cut(record.Target, "."); name != self {
				found[name] = fmt.Sprintf("http://%s:%d", strings.TrimSuffix(record.Target, "."), record.Port)
			}
		}
		return found, err
	}
}

// serve adds the calls of the store.
func (s *store) serve(mux *http.ServeMux) {
	mux.HandleFunc("PUT /values/{key}", s.put)
	mux.HandleFunc("GET /values/{key}", s.get)
	mux.HandleFunc("PUT /copies/{key}", s.putCopy)
	mux.HandleFunc("GET /copies/{key}", s.getCopy)
	mux.HandleFunc("GET /copies", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, format(s.journal.all())) })
	mux.HandleFunc("POST /pull", func(w http.ResponseWriter, r *http.Request) {
		names, err := s.pull(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, strings.Join(names, "\n"))
	})
}

// run calls ready when this member has what it should have, and then takes what it lacks until ctx ends.
func (s *store) run(ctx context.Context, ready func()) {
	for ctx.Err() == nil {
		if _, err := s.pull(ctx); err != nil {
			log.Print(err)
		} else {
			ready()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pullPeriod):
		}
	}
}

// owners returns the members that should have a key.
func owners(key string, members []string) []string {
	score := func(member string) []byte {
		sum := sha256.Sum256([]byte(member + " " + key))
		return sum[:]
	}
	sorted := slices.SortedFunc(slices.Values(members), func(a, b string) int {
		return cmp.Or(bytes.Compare(score(b), score(a)), cmp.Compare(a, b))
	})
	return sorted[:min(copies, len(sorted))]
}

// members returns the names of all members, and the addresses of the others.
func (s *store) members(ctx context.Context) (names []string, others map[string]string, err error) {
	others, err = s.others(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("find the other members: %w", err)
	}
	return append(slices.Sorted(maps.Keys(others)), s.name), others, nil
}

// put writes a value to the members that should have it. It succeeds once enough of them have it on
// their disks.
func (s *store) put(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	value, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	names, others, err := s.members(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	responsible := owners(key, names)
	written := make(chan error, len(responsible))
	for _, name := range responsible {
		go func() {
			if name == s.name {
				written <- s.journal.add(map[string]string{key: string(value)})
				return
			}
			ctx := context.WithoutCancel(r.Context()) // the answer need not wait for the last copy
			_, err := call(ctx, http.MethodPut, others[name]+"/copies/"+key, string(value))
			written <- err
		}()
	}
	have, failures := 0, []error(nil)
	for range responsible {
		if err := <-written; err != nil {
			failures = append(failures, err)
		} else if have++; have == acknowledged {
			return
		}
	}
	http.Error(w, fmt.Sprintf("%d of %q have it: %v", have, responsible, errors.Join(failures...)), http.StatusServiceUnavailable)
}

// get returns a value from this member, or else from any other one that has it.
func (s *store) get(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	if value, has := s.journal.get(key); has {
		fmt.Fprint(w, value)
		return
	}
	_, others, err := s.members(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if value, err := call(r.Context(), http.MethodGet, others[name]+"/copies/"+key, ""); err == nil {
			fmt.Fprint(w, value)
			return
		}
	}
	http.NotFound(w, r)
}

func (s *store) putCopy(w http.ResponseWriter, r *http.Request) {
	value, err := io.ReadAll(r.Body)
	if err == nil {
		err = s.journal.add(map[string]string{r.PathValue("key"): string(value)})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

func (s *store) getCopy(w http.ResponseWriter, r *http.Request) {
	value, has := s.journal.get(r.PathValue("key"))
	if !has {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, value)
}

// pull takes from all other members what this one should have and lacks. It returns the names of all
// members.
func (s *store) pull(ctx context.Context) ([]string, error) {
	names, others, err := s.members(ctx)
	if err != nil {
		return nil, err
	}
	lacking := map[string]string{}
	for name, address := range others {
		text, err := call(ctx, http.MethodGet, address+"/copies", "")
		if err != nil {
			return nil, fmt.Errorf("take values from %s: %w", name, err)
		}
		values, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("take values from %s: %w", name, err)
		}
		for key, value := range values {
			if _, has := s.journal.get(key); !has && slices.Contains(owners(key, names), s.name) {
				lacking[key] = value
			}
		}
	}
	return names, s.journal.add(lacking)
}

// call calls another member and returns the answer to a call that succeeds.
func call(ctx context.Context, method, url, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, url, response.Status, content)
	}
	return string(content), err
}
