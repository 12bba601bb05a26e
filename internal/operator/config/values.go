package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// text accepts any text.
func text(to *string) value {
	return value{
		store:   func(text string) error { *to = text; return nil },
		current: func() string { return *to },
	}
}

// checked accepts texts for which check returns no error.
func checked(to *string, check func(text string) error) value {
	v := text(to)
	v.store = func(text string) error {
		if err := check(text); err != nil {
			return err
		}
		*to = text
		return nil
	}
	return v
}

// choice accepts one of the words.
func choice(to *string, words ...string) value {
	return checked(to, func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		last := len(words) - 1
		return fmt.Errorf("must be %s or %s", strings.Join(words[:last], ", "), words[last])
	})
}

// namespace accepts the name of a namespace, or nothing.
func namespace(to *string) value {
	return checked(to, func(text string) error {
		if text == "" {
			return nil
		}
		if problems := validation.IsDNS1123Label(text); len(problems) > 0 {
			return errors.New("must be the name of a namespace: at most 63 lower case letters, digits and dashes, with a letter or digit at both ends")
		}
		return nil
	})
}

// object accepts the name of an object.
func object(to *string) value {
	return checked(to, func(text string) error {
		if !isObjectName(text) {
			return errors.New("must be the name of an object: at most 253 lower case letters, digits, dashes and dots, with a letter or digit at both ends")
		}
		return nil
	})
}

// objects accepts names of objects, or nothing.
func objects(to *[]string) value {
	return list(to, isObjectName, "must be comma-separated names of objects, such as no-downscale,prepare-downscale")
}

func isObjectName(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// hosts accepts DNS names and IP addresses, or nothing.
func hosts(to *[]string) value {
	isHost := func(text string) bool {
		ip, err := netip.ParseAddr(text)
		text = strings.ToLower(text)
		return err == nil && ip.Zone() == "" || isObjectName(text) || len(validation.IsWildcardDNS1123Subdomain(text)) == 0
	}
	return list(to, isHost, "must be comma-separated DNS names and IP addresses, such as lockstep.example.com,10.0.0.1")
}

// list accepts comma-separated texts that is accepts.
func list(to *[]string, is func(string) bool, want string) value {
	return value{
		store: func(text string) error {
			var all []string
			for one := range strings.SplitSeq(text, ",") {
				one = strings.TrimSpace(one)
				switch {
				case one == "":
				case !is(one):
					return fmt.Errorf("%s; %q is not one", want, one)
				case !slices.Contains(all, one):
					all = append(all, one)
				}
			}
			*to = all
			return nil
		},
		current: func() string { return strings.Join(*to, ",") },
	}
}

// domain accepts the domain of a cluster, with or without a final dot.
func domain(to *string) value {
	return checked(to, func(text string) error {
		if !isObjectName(strings.ToLower(strings.TrimSuffix(text, "."))) {
			return errors.New("must be a domain such as cluster.local")
		}
		return nil
	})
}

// selector accepts a label selector that does not select everything by mistake.
func selector(to *string) value {
	return checked(to, func(text string) error {
		if strings.TrimSpace(text) == "" {
			return errors.New(`must be a label selector such as "team=a,stage in (test,prod)"; to select all namespaces, set "kubernetes.io/metadata.name"`)
		}
		if _, err := labels.Parse(text); err != nil {
			return fmt.Errorf(`must be a label selector such as "team=a,stage in (test,prod)": %w`, err)
		}
		return nil
	})
}

// address accepts the URL of an API server, with or without its scheme, or nothing.
func address(to *string) value {
	return checked(to, func(text string) error {
		if text == "" {
			return nil
		}
		whole := text
		if !strings.Contains(text, "://") {
			whole = "https://" + text // client-go chooses the scheme
		}
		u, err := url.Parse(whole)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("must be a URL such as https://10.0.0.1:6443, or a host and a port")
		}
		return nil
	})
}

// count accepts an integer within bounds, both included.
func count(to *int, least, most int) value {
	return value{
		store: func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > most {
				return fmt.Errorf("must be a whole number from %d to %d", least, most)
			}
			*to = n
			return nil
		},
		current: func() string { return strconv.Itoa(*to) },
	}
}

// duration accepts a positive multiple of the unit.
func duration(to *time.Duration, unit time.Duration) value {
	return value{
		store: func(text string) error {
			d, err := time.ParseDuration(text)
			if err != nil || d < unit || d%unit != 0 {
				return fmt.Errorf("must be a duration such as 10s or 1m30s, in steps of %v, at least %v", unit, unit)
			}
			*to = d
			return nil
		},
		current: func() string { return to.String() },
	}
}

// limit accepts a duration, or 0 for none.
func limit(to *time.Duration) value {
	v := duration(to, time.Millisecond)
	some := v.store
	v.store = func(text string) error {
		if d, err := time.ParseDuration(text); err == nil && d == 0 {
			*to = 0
			return nil
		}
		return some(text)
	}
	return v
}

// seconds accepts a duration of at least a second, and truncates it to seconds, because a Lease
// cannot contain fractions.
func seconds(to *time.Duration) value {
	v := duration(to, time.Millisecond)
	v.store = func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second {
			return errors.New("must be a duration such as 10s or 1m30s, at least 1s")
		}
		*to = d.Truncate(time.Second)
		return nil
	}
	return v
}

// life accepts a duration that may also be given in days, weeks and years, as in Prometheus.
func life(to *time.Duration, least time.Duration) value {
	return value{
		store: func(text string) error {
			d, err := parseLife(text)
			if err != nil || d < least || d > 100*365*day {
				return fmt.Errorf("must be a duration such as 365d, 4w or 36h, from %v to 100y", least)
			}
			*to = d
			return nil
		},
		current: func() string { return to.String() },
	}
}

const day = 24 * time.Hour

// parseLife parses texts like 1y2w3d4h5m6s, in which each part is optional.
func parseLife(text string) (time.Duration, error) {
	var total time.Duration
	rest := text
	for _, unit := range []struct {
		letter string
		long   time.Duration
	}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}} {
		number, behind, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > int(math.MaxInt64/int64(unit.long))/2 {
			return 0, fmt.Errorf("%q is not a number of %s", number, unit.letter)
		}
		total, rest = total+time.Duration(n)*unit.long, behind
	}
	if rest == "" && text != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if d < 0 {
		return 0, errors.New("it is negative")
	}
	return total + d, err
}

// boolean accepts the texts that Go accepts as booleans, and nothing for true.
func boolean(to *bool) value {
	return value{
		store: func(text string) error {
			b, err := strconv.ParseBool(text)
			if err != nil {
				return errors.New("must be true or false")
			}
			*to = b
			return nil
		},
		current: func() string { return strconv.FormatBool(*to) },
		bare:    true,
	}
}
