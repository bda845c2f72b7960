package overlay

// Grouped returns the edit that makes commands share transactions even under a light load:
// each waits until a free lane has gathered commands for a few milliseconds. The root of
// the repository is relative to the working directory.
func Grouped(root string) Edit {
	return Edit{
		File: root + "/internal/adapters/out/postgres/lanes.go",
		Before: `	if l.free == 0 {
		l.queue.push(m)
		return nil
	}
	l.free--
	return l.take(1)
`,
		After: `	l.queue.push(m)
	if l.free > 0 {
		l.free--
		time.AfterFunc(3*time.Millisecond, l.take(1).leave)
	}
	return nil
`,
	}
}
