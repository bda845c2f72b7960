package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Setting is an effective setting without secrets.
type Setting struct {
	Name, Value string
	// Default reports that a value is the default.
	Default bool
}

// hiddenValue replaces secrets.
const hiddenValue = "xxxxx"

// Describe returns all settings in [Config] order, without secrets.
func Describe(cfg Config) []Setting {
	var settings []Setting
	var byDefault Config
	_ = env.ParseWithOptions(&byDefault, env.Options{Environment: map[string]string{}}) // defaults are valid
	values, defaults := reflect.ValueOf(cfg), reflect.ValueOf(byDefault)
	for _, field := range reflect.VisibleFields(values.Type()) {
		hide := withoutQuery
		switch {
		case variable(field) == databaseVariable:
			hide = withoutPassword
		case isSecret(field):
			hide = withoutSecret
		}
		value := textOf(values.FieldByIndex(field.Index), hide)
		isDefault := value != "" && value == textOf(defaults.FieldByIndex(field.Index), hide)
		settings = append(settings, Setting{variable(field), value, isDefault})
	}
	return settings
}

// isSecret reports whether a setting may contain a secret. The parser removes such
// settings from the environment.
func isSecret(field reflect.StructField) bool {
	return strings.HasSuffix(field.Tag.Get("env"), ",unset")
}

// textOf formats a value as in the environment, with hide applied to each part.
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

// shownParameters are the URL parameters that show the target, the role and the way of
// connecting. All others may contain secrets.
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
	shown.RawQuery = strings.ReplaceAll(parameters.Encode(), "%2F", "/") // keep paths readable
	return shown.String()
}

// withoutSecret returns a URL's address, and hides any other value.
func withoutSecret(value string) string {
	if address, isURL := addressOf(value); isURL || value == "" {
		return address
	}
	return hiddenValue
}

// withoutQuery returns a URL's address, and any other value unchanged.
func withoutQuery(value string) string {
	if address, isURL := addressOf(value); isURL {
		return address
	}
	return value
}

// addressOf returns a URL without its query and with its user hidden, because both can
// be secrets.
func addressOf(value string) (address string, isURL bool) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return "", false
	}
	if u.User != nil {
		u.User = url.User(hiddenValue)
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String(), true
}
