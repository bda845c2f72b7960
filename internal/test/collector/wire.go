package collector

import "encoding/binary"

// The numbers of OTLP's fields (opentelemetry-proto, trace.proto and common.proto).
const (
	exportResourceSpans     = 1
	resourceSpansResource   = 1
	resourceSpansScopeSpans = 2
	resourceAttributes      = 1
	scopeSpansSpans         = 2
	spanTraceID             = 1
	spanID                  = 2
	spanParentID            = 4
	spanName                = 5
	spanKind                = 6
	spanAttributes          = 9
	spanLinks               = 13
	spanStatus              = 15
	statusCode              = 3
	statusError             = 2
	linkSpanID              = 2
	keyValueKey             = 1
	keyValueValue           = 2
	anyString               = 1
	anyInt                  = 3
)

// message is a message of protocol buffers: the values of each field.
type message map[uint64][]value

type value struct {
	number uint64
	bytes  []byte
}

// parse reads a message, and reports whether it is one. Fields of a fixed size have no
// value, because no test needs one.
func parse(data []byte) (message, bool) {
	m := message{}
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, false
		}
		data = data[n:]
		var v value
		size, read := uint64(0), 0
		switch tag & 7 {
		case 0:
			v.number, read = binary.Uvarint(data)
		case 1:
			size = 8
		case 2:
			size, read = binary.Uvarint(data)
		case 5:
			size = 4
		default:
			return nil, false
		}
		if read < 0 || size > uint64(len(data)-read) {
			return nil, false
		}
		end := read + int(size)
		v.bytes, data = data[read:end], data[end:]
		m[tag>>3] = append(m[tag>>3], v)
	}
	return m, true
}

func (m message) messages(field uint64) (found []message) {
	for _, v := range m[field] {
		if parsed, ok := parse(v.bytes); ok {
			found = append(found, parsed)
		}
	}
	return found
}

func (m message) message(field uint64) message {
	if found := m.messages(field); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (m message) text(field uint64) string {
	if values := m[field]; len(values) > 0 {
		return string(values[0].bytes)
	}
	return ""
}

func (m message) number(field uint64) uint64 {
	if values := m[field]; len(values) > 0 {
		return values[0].number
	}
	return 0
}
