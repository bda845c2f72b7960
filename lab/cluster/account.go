package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// account is the nodes' user.
type account struct {
	uid uint32
	// switched reports that this process is root, and the nodes are not.
	switched bool
}

// Node groups begin at firstGroup, above those that systems and their administrators
// use. Each cluster has groupsOfCluster groups.
const firstGroup, groupsOfCluster = 219_000, 100

// attributes returns how to start a process in a group. Ctrl-C in a terminal does not
// reach it.
func (a account) attributes(gid uint32) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.switched {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: gid}
	}
	return attr
}

// own makes the account the owner of a folder and the files in it.
func (a account) own(dir string, gid uint32) error {
	if !a.switched {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range append(files, dir) {
		err = errors.Join(err, os.Chown(path, int(a.uid), int(gid)))
	}
	return err
}
