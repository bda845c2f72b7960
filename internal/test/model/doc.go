// Package modeltest holds a model of the business that is small enough to be seen to be
// right: numbers in maps and no transactions. A property test drives random commands
// through it and through the real thing, and the two have to agree.
package modeltest
