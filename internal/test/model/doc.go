// Package modeltest holds a model of the business that is so small that a reader can see
// it is right: numbers in maps, without transactions. A property test sends random
// commands to the model and to the real use cases and compares the two.
package modeltest
