package acceptance

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"bondrepro/internal/osrun"
)

// fixtures are the folders made by unpack, removed at the end.
var fixtures []string

func removeFixtures() {
	for _, folder := range fixtures {
		os.RemoveAll(folder)
	}
}

// kernelTree is a kernel package laid open: an image and the folder of its modules.
type kernelTree struct{ image, modules string }

// Trees without a module: kernels that have no bonding, or no netem, at all, and one whose bonding is built in.
var (
	withoutBonding = sync.OnceValues(func() (kernelTree, error) { return unpack(bondingFile, "") })
	withoutNetem   = sync.OnceValues(func() (kernelTree, error) { return unpack("kernel/net/sched/sch_netem.ko", "") })
	builtInBonding = sync.OnceValues(func() (kernelTree, error) { return unpack(bondingFile, bondingFile+"\n") })
)

const bondingFile = "kernel/drivers/net/bonding/bonding.ko"

// unpack lays the kernel package open, takes one module file away (none, when it is empty) and adds lines to
// modules.builtin.
func unpack(without, builtin string) (kernelTree, error) {
	root, err := os.MkdirTemp("", "brk")
	if err != nil {
		return kernelTree{}, err
	}
	fixtures = append(fixtures, root)
	if _, err := osrun.Run(context.Background(), osrun.Cmd{Path: "dpkg-deb", Args: []string{"-x", kernelDeb, root}, Timeout: patience}); err != nil {
		return kernelTree{}, err
	}
	images, _ := filepath.Glob(root + "/boot/vmlinuz-*")
	modules, _ := filepath.Glob(root + "/lib/modules/*")
	if len(images) != 1 || len(modules) != 1 {
		return kernelTree{}, fmt.Errorf("%s holds images %v and module folders %v, want one of each", kernelDeb, images, modules)
	}
	tree := kernelTree{images[0], modules[0]}
	if without == "" {
		return tree, nil
	}
	files, err := filepath.Glob(filepath.Join(tree.modules, without) + "*") // perhaps compressed
	if err != nil || len(files) != 1 {
		return tree, fmt.Errorf("%s: %s is %v, want one file (%v)", kernelDeb, without, files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		return tree, err
	}
	list, err := os.OpenFile(tree.modules+"/modules.builtin", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return tree, err
	}
	if _, err := list.WriteString(builtin); err != nil {
		return tree, err
	}
	return tree, list.Close()
}

// tree gives a fixture's --kernel and --modules.
func tree(t *testing.T, make func() (kernelTree, error)) []string {
	t.Helper()
	k, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--kernel", k.image, "--modules", k.modules}
}

// mutant is the path of the bonding.ko with that fault.
func mutant(name string) string { return filepath.Join(mutants, name, "bonding.ko") }

// buildID reads a module's build id as the linker wrote it: an ELF note, its name "GNU" and then the id
// (binutils, --build-id).
func buildID(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		t.Fatalf("%s has no build id", path)
	}
	note, err := section.Data()
	if err != nil || len(note) < 16 {
		t.Fatalf("%s: read the build id: %v", path, err)
	}
	return fmt.Sprintf("%x", note[16:])
}
