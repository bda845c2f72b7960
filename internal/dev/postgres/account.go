package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the server user. PostgreSQL refuses to run as root.
type account struct {
	name     string
	uid, gid uint32
	switched bool // switched from root: must own the files and run the child processes
}

// Account returns the PostgreSQL user id, and whether it differs from the current user,
// who is then root.
func Account() (uid uint32, switched bool, err error) {
	acc, err := serverAccount()
	return acc.uid, acc.switched, err
}

// serverAccount returns the current user. For root, it returns the user created by
// the Debian package, or a fallback.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		me, err := user.Current()
		if err != nil {
			return account{}, fmt.Errorf("look up the current user: %w", err)
		}
		return accountOf(me, false)
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return accountOf(u, true)
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody: start it as an ordinary user")
}

func accountOf(u *user.User, switched bool) (account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("read the id of user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("read the group of user %s: %w", u.Username, err)
	}
	return account{name: u.Username, uid: uint32(uid), gid: uint32(gid), switched: switched}, nil
}

// attributes starts a process as this user in a separate process group. Ctrl-C in a
// terminal signals the whole foreground group, and the server has to outlive the last
// requests.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.switched {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// own makes the account the owner of a file.
func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

func (a account) checkOwner(dir string) error {
	owner, err := ownerOf(dir)
	if err != nil {
		return err
	}
	if owner != a.uid {
		return fmt.Errorf("data directory %s belongs to user id %d and the server would run as %s: start as its owner, or remove the directory", dir, owner, a.name)
	}
	return nil
}

func ownerOf(path string) (uint32, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("read the owner of %s: the file system has none", path)
	}
	return stat.Uid, nil
}
