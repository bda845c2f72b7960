package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Setting is one setting that is in force, as people may see it.
type Setting struct{ Name, Value string }

// hiddenValue replaces what nobody may see.
const hiddenValue = "xxxxx"

// Describe returns all settings of cfg in their order in [Config], without secrets.
func Describe(cfg Config) []Setting {
	var settings []Setting
	values := reflect.ValueOf(cfg)
	for _, field := range reflect.VisibleFields(values.Type()) {
		hide := withoutQuery
		switch {
		case variable(field) == databaseVariable, variable(field) == standbyVariable:
			hide = withoutPassword
		case isSecret(field):
			hide = withoutSecret
		}
		settings = append(settings, Setting{variable(field), textOf(values.FieldByIndex(field.Index), hide)})
	}
	return settings
}

// isSecret reports whether a setting may contain a secret. Such a setting is removed from
// the environment when it is read.
func isSecret(field reflect.StructField) bool {
	return strings.HasSuffix(field.Tag.Get("env"), ",unset")
}

// textOf returns a value as it is written in the environment, and hides what must not be
// seen of each of its parts.
func textOf(value reflect.Value, hide func(string) string) string {
	if value.Kind() != reflect.Slice {
		return hide(fmt.Sprint(value.Interface()))
	}
	parts := make([]string, value.Len())
	for i := range parts {
		parts[i] = hide(fmt.Sprint(value.Index(i).Interface()))
	}
	return strings.Join(parts, ",")
}

// shownParameters are the parameters of a database URL that say where it leads to, as whom,
// and how. Any other may contain a secret.
var shownParameters = []string{
	"application_name", "connect_timeout", "dbname", "host", "port", "sslcert", "sslkey", "sslmode",
	"sslnegotiation", "sslrootcert", "target_session_attrs", "user",
}

// withoutPassword returns a database URL with its role, its servers or socket, and its
// [shownParameters].
func withoutPassword(value string) string {
	if value == "" {
		return ""
	}
	u, err := parseDatabase(value)
	if err != nil || u.Scheme == "" {
		return hiddenValue
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, User: u.User}
	if _, hasPassword := u.User.Password(); hasPassword {
		shown.User = url.UserPassword(u.User.Username(), hiddenValue)
	}
	parameters := u.Query()
	maps.DeleteFunc(parameters, func(name string, _ []string) bool {
		return !slices.Contains(shownParameters, name) && !strings.HasPrefix(name, "pool_")
	})
	shown.RawQuery = strings.ReplaceAll(parameters.Encode(), "%2F", "/") // people read paths
	return shown.String()
}

// withoutSecret returns where a URL leads to, and nothing of any other value. A user is
// hidden because it can be a token.
func withoutSecret(value string) string {
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return hiddenValue
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(hiddenValue)
	}
	return shown.String()
}

// withoutQuery hides the user and removes the query of a URL, because both can be a secret.
// It returns any other value as it is.
func withoutQuery(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.User == nil && u.RawQuery == "") {
		return value
	}
	if u.User != nil {
		u.User = url.User(hiddenValue)
	}
	u.RawQuery = ""
	return u.String()
}
