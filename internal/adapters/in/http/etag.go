package httpapi

import (
	"regexp"
	"strconv"
	"strings"
)

// etagOf returns the entity tag of a version. It is strong: If-Match compares strongly.
func etagOf(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// entityTag matches the first entity tag of a list, and the comma after it.
var entityTag = regexp.MustCompile(`^(W/)?("[\x21\x23-\x7e]*")[ \t]*(?:,|$)`)

// noVersion is what an entity tag names that is no version of ours: a weak one, or one from
// elsewhere. Versions begin with 1.
const noVersion = 0

// decodeIfMatch parses If-Match (RFC 9110, section 13.1.1). It reports whether the resource
// must exist, and returns the versions of which it must have one, none for "*".
func decodeIfMatch(r *request) (mustExist bool, versions []int64, err error) {
	values := r.http.Header.Values("If-Match")
	if len(values) == 0 {
		return false, nil, nil
	}
	list := strings.Trim(strings.Join(values, ","), ", \t")
	if list == "*" {
		return true, nil, nil
	}
	for list != "" {
		tag := entityTag.FindStringSubmatch(list)
		if tag == nil {
			break
		}
		versions = append(versions, versionOf(tag[1] == "W/", tag[2]))
		list = strings.TrimLeft(list[len(tag[0]):], ", \t")
	}
	if list != "" || len(versions) == 0 {
		return false, nil, malformed(`If-Match must be * or a list of entity tags in double quotes, such as "3"`)
	}
	return true, versions, nil
}

// versionOf returns the version that an entity tag names.
func versionOf(weak bool, tag string) int64 {
	version, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if weak || err != nil || etagOf(version) != tag {
		return noVersion
	}
	return version
}
