package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everyone may import these: the words all rooms speak, and the one way to start a process.
var everyone = []string{
	"reproducer/result", "scenarios", "qdiscstat/counters", "internal/osrun",
}

// arrows are the rooms and what else each may import. Arrows point down only.
var arrows = map[string][]string{
	"cmd/bondctl":   {"bondctl", "internal/exitcode"},
	"cmd/bondrepro": {"internal/bisect", "internal/compare", "internal/doctor", "internal/exitcode", "internal/guest", "internal/judge", "internal/kbuild", "internal/kernel", "internal/matrix", "internal/netns", "internal/progress", "internal/report", "internal/traffic", "bondctl", "reproducer"},
	"cmd/qdiscstat": {"bondctl", "internal/exitcode", "qdiscstat"},

	"reproducer":                 {"internal/judge", "internal/measure", "internal/testbed"},
	"internal/doctor":            {"bondctl", "internal/ifstate", "internal/kernel", "internal/netns", "internal/ports", "internal/vm"},
	"internal/bisect":            {"internal/gitrepo", "internal/kbuild", "internal/kernel", "internal/stats", "reproducer"},
	"internal/gitrepo":           {},
	"internal/kbuild":            {"internal/kernel"},
	"internal/compare":           {"internal/stats", "reproducer"},
	"internal/matrix":            {"internal/yamlnode", "reproducer"},
	"internal/testbed":           {"bondctl", "internal/ports", "internal/exitcode", "internal/guestproto", "internal/kernel", "internal/measure", "internal/netns", "internal/vm"},
	"internal/guest":             {"internal/guestproto", "internal/measure"},
	"internal/netns":             {"internal/exitcode", "internal/measure", "internal/stamp", "internal/thread", "internal/traffic"},
	"internal/vm":                {"internal/arrivals", "internal/guestproto", "internal/initramfs", "internal/kernel", "internal/stamp"},
	"internal/measure":           {"bondctl", "internal/thread", "internal/traffic", "internal/traffic/workload", "qdiscstat"},
	"internal/traffic":           {"internal/arrivals", "internal/stamp"},
	"internal/traffic/workload":  {"internal/thread"},
	"internal/arrivals":          {"internal/stamp"},
	"internal/judge":             {"internal/stats", "internal/xmithash"},
	"internal/xmithash":          {},
	"internal/vmtest":            {"internal/guest", "internal/guestproto", "internal/initramfs", "internal/kernel", "internal/vm"},
	"internal/kernel":            {},
	"internal/report":            {},
	"bondctl":                    {"internal/ifstate", "internal/ports", "internal/xmithash"},
	"internal/ifstate":           {"internal/qdisctree"},
	"internal/ifstate/statetest": {},
	"internal/qdisctree":         {},
	"internal/ports":             {},
	"qdiscstat":                  {},
	"reproducer/result":          {},
	"scenarios":                  {"internal/yamlnode"},
	"qdiscstat/counters":         {},

	"internal/acceptance": {},
	"internal/exitcode":   {},
	"internal/guestproto": {},
	"internal/house":      {},
	"internal/initramfs":  {},
	"internal/osrun":      {},
	"internal/progress":   {},
	"internal/stamp":      {},
	"internal/stats":      {},
	"internal/thread":     {},
	"internal/yamlnode":   {},
}

// pure rooms think and make no system call: these imports would let them.
var (
	pure      = []string{"internal/arrivals", "internal/yamlnode", "internal/judge", "internal/xmithash", "internal/stats", "internal/report", "reproducer/result", "scenarios", "qdiscstat/counters"}
	impurity  = []string{"os", "os/exec", "net", "syscall", "golang.org/x/sys/unix", "github.com/vishvananda/netlink", "time/tzdata", "math/rand", "math/rand/v2"}
	public    = []string{"reproducer", "reproducer/result", "bondctl", "qdiscstat", "qdiscstat/counters", "scenarios"}
	starters  = []string{"Command", "CommandContext", "StartProcess", "ForkExec"}
	startRoom = "internal/osrun"
)

const module = "bondrepro/"

type file struct {
	room string
	name string
	ast  *ast.File
}

// sources parses every Go file of the module that is not a test.
func sources(t *testing.T) []file {
	t.Helper()
	root := "../.."
	var files []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		files = append(files, file{room: path.Dir(filepath.ToSlash(rel)), name: rel, ast: parsed})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found only %d source files: is this the module's root?", len(files))
	}
	return files
}

func (f file) imports() []string {
	var names []string
	for _, i := range f.ast.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		names = append(names, name)
	}
	return names
}

func TestArrowsPointDown(t *testing.T) {
	for _, f := range sources(t) {
		allowed, known := arrows[f.room]
		if !known {
			t.Errorf("%s: the room %s is not in the plan of the house: add it here and in docs/architecture.md", f.name, f.room)
			continue
		}
		for _, name := range f.imports() {
			room, ours := strings.CutPrefix(name, module)
			if ours && !slices.Contains(everyone, room) && !slices.Contains(allowed, room) {
				t.Errorf("%s: %s may not import %s", f.name, f.room, room)
			}
		}
	}
}

func TestPlanHasNoRoomThatIsGone(t *testing.T) {
	for room := range arrows {
		if entries, err := os.ReadDir(filepath.Join("../..", room)); err != nil || len(entries) == 0 {
			t.Errorf("the plan has a room %s, the tree has none", room)
		}
	}
}

func TestPureRoomsTouchNothing(t *testing.T) {
	for _, f := range sources(t) {
		if !slices.Contains(pure, f.room) {
			continue
		}
		for _, name := range f.imports() {
			if slices.Contains(impurity, name) {
				t.Errorf("%s: %s only thinks, so it may not import %s", f.name, f.room, name)
			}
		}
	}
}

func TestOneRoomStartsProcesses(t *testing.T) {
	for _, f := range sources(t) {
		if f.room == startRoom {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := call.X.(*ast.Ident)
			if ok && slices.Contains([]string{"exec", "os", "syscall"}, pkg.Name) && slices.Contains(starters, call.Sel.Name) {
				t.Errorf("%s: %s.%s: processes are started by %s alone", f.name, pkg.Name, call.Sel.Name, startRoom)
			}
			return true
		})
	}
}

// A user of a public package can name every type that its exported names show.
func TestPublicRoomsExposeNoInternalType(t *testing.T) {
	for _, f := range sources(t) {
		if !slices.Contains(public, f.room) {
			continue
		}
		internal := map[string]bool{}
		for _, name := range f.imports() {
			if strings.HasPrefix(name, module+"internal/") {
				internal[path.Base(name)] = true
			}
		}
		for _, d := range f.ast.Decls {
			for _, exposed := range exposedTypes(d) {
				ast.Inspect(exposed, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if pkg, ok := s.X.(*ast.Ident); ok && internal[pkg.Name] {
							t.Errorf("%s: %s.%s shows in what %s exports", f.name, pkg.Name, s.Sel.Name, f.room)
						}
					}
					return true
				})
			}
		}
	}
}

// exposedTypes are the type expressions a declaration shows to other packages: signatures of exported functions
// and methods, and exported fields of exported types.
func exposedTypes(d ast.Decl) []ast.Node {
	var out []ast.Node
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			out = append(out, d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			ts, ok := s.(*ast.TypeSpec)
			if !ok || !ts.Name.IsExported() {
				continue
			}
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				out = append(out, ts.Type)
				continue
			}
			for _, field := range st.Fields.List {
				if len(field.Names) == 0 || field.Names[0].IsExported() {
					out = append(out, field.Type)
				}
			}
		}
	}
	return out
}

// A panic anywhere must end in SIGABRT: git bisect run would read Go's exit code 2 as "bad".
func TestCommandsGuardFirst(t *testing.T) {
	mains := 0
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.room, "cmd/") {
			continue
		}
		for _, d := range f.ast.Decls {
			main, ok := d.(*ast.FuncDecl)
			if !ok || main.Recv != nil || main.Name.Name != "main" {
				continue
			}
			mains++
			if !callsGuard(main.Body.List[0]) {
				t.Errorf("%s: main must call exitcode.Guard() first", f.name)
			}
		}
	}
	if mains == 0 {
		t.Error("no command was found")
	}
}

func callsGuard(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Guard" && f.X.(*ast.Ident).Name == "exitcode"
}
