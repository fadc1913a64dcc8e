package matrix

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write puts a file into a folder of the test's.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// plan reads a matrix file, in a folder that has a kernel, a module and a scenario.
func plan(t *testing.T, text string) (Plan, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bzImage"), "an image")
	write(t, filepath.Join(dir, "bonding.ko"), "a module")
	write(t, filepath.Join(dir, "other.ko"), "another module")
	write(t, filepath.Join(dir, "mods", "x"), "")
	write(t, filepath.Join(dir, "my.yaml"), "summary: mine\ntraffic: {senders: 2}\n")
	return Read(write(t, filepath.Join(dir, "m.yaml"), text))
}

func mustPlan(t *testing.T, text string) Plan {
	t.Helper()
	p, err := plan(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byID is a cell of a plan.
func byID(t *testing.T, p Plan, id string) Cell {
	t.Helper()
	i := slices.IndexFunc(p.Cells, func(c Cell) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("there is no cell %s in %v", id, ids(p.Cells))
	}
	return p.Cells[i]
}

func ids(cells []Cell) (all []string) {
	for _, c := range cells {
		all = append(all, c.ID)
	}
	return all
}

const twelve = `
kernels:
  - deb:linux-image-cloud-amd64
  - ./bzImage
  - {name: patched, kernel: ./bzImage, modules_dir: mods, modules: {bonding: ./bonding.ko}}
scenarios: [bond-multicast-tx, ./my.yaml]
settings:
  default: {}
  eight: {traffic.senders: 8, topology.slaves.line_rate: [60mbit, 100mbit], module.bonding: ./other.ko}
set: {traffic.duration: 1s}
no_control: true
qemu: ./qemu
`

func TestPlanIsEveryCell(t *testing.T) {
	p := mustPlan(t, twelve)
	want := []string{
		"linux-image-cloud-amd64,bond-multicast-tx,default", "bzImage,bond-multicast-tx,default", "patched,bond-multicast-tx,default",
		"linux-image-cloud-amd64,bond-multicast-tx,eight", "bzImage,bond-multicast-tx,eight", "patched,bond-multicast-tx,eight",
		"linux-image-cloud-amd64,my,default", "bzImage,my,default", "patched,my,default",
		"linux-image-cloud-amd64,my,eight", "bzImage,my,eight", "patched,my,eight",
	}
	if got := ids(p.Cells); !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
}

func TestCellIsWhatRunTakes(t *testing.T) {
	p := mustPlan(t, twelve)
	o := byID(t, p, "patched,my,eight").Options
	if o.Scenario.Traffic.Senders != 8 || o.Scenario.Traffic.Duration.String() != "1s" || o.Scenario.Topology.Slaves.LineRate.Of(1) != 100e6 {
		t.Errorf("the settings are not in the scenario: %+v", o.Scenario.Traffic)
	}
	if want := []string{"traffic.duration=1s", "traffic.senders=8", "topology.slaves.line_rate=[60mbit, 100mbit]"}; !slices.Equal(o.Set, want) {
		t.Errorf("set %q, want %q", o.Set, want)
	}
	if o.Testbed != "vm" || !o.NoControl {
		t.Errorf("testbed %q, no control %v", o.Testbed, o.NoControl)
	}
	for what, path := range map[string]string{"bzImage": o.Kernel, "mods": o.ModulesDir, "other.ko": o.Modules["bonding"], "qemu": o.QEMU} {
		if filepath.Base(path) != what || !filepath.IsAbs(path) {
			t.Errorf("path %s, want %s in the matrix file's folder", path, what)
		}
	}
	if c := byID(t, p, "linux-image-cloud-amd64,my,default"); c.Options.Scenario.Traffic.Senders != 2 || c.local {
		t.Errorf("a setting leaked into another cell, or a package counts as a file of the user's: %+v", c)
	}
}

func TestSettingWinsOverWhatIsCommon(t *testing.T) {
	p := mustPlan(t, "scenarios: [bond-multicast-tx]\nset: {traffic.senders: 2, module.bonding: ./bonding.ko}\nsettings: {a: {}, b: {traffic.senders: 3, module.bonding: ./other.ko}}\n")
	for i, want := range []struct {
		senders int
		module  string
	}{{2, "bonding.ko"}, {3, "other.ko"}} {
		if o := p.Cells[i].Options; int(o.Scenario.Traffic.Senders) != want.senders || filepath.Base(o.Modules["bonding"]) != want.module {
			t.Errorf("%s: %d senders, modules %v, want %v", p.Cells[i].ID, o.Scenario.Traffic.Senders, o.Modules, want)
		}
	}
}

// The same file gives the same keys wherever it lies; another value gives another.
func TestKeysTellDefinitionsApart(t *testing.T) {
	a, b := mustPlan(t, twelve), mustPlan(t, twelve)
	if a.Key != b.Key {
		t.Error("the same matrix in two folders has two keys")
	}
	seen := map[string]string{}
	for _, c := range a.Cells {
		if other, twice := seen[c.Key]; twice {
			t.Errorf("%s and %s have one key", other, c.ID)
		}
		seen[c.Key] = c.ID
	}
	changed := mustPlan(t, strings.Replace(twelve, "traffic.senders: 8", "traffic.senders: 9", 1))
	if changed.Key == a.Key {
		t.Error("another setting has the same key")
	}
	for i, c := range changed.Cells {
		if same := c.Key == a.Cells[i].Key; same == (c.Setting == "eight") {
			t.Errorf("%s: key is the same: %v", c.ID, same)
		}
	}
}

func TestShortestMatrix(t *testing.T) {
	p := mustPlan(t, "scenarios: [bond-multicast-tx]\n")
	if got := ids(p.Cells); !slices.Equal(got, []string{"linux-image-cloud-amd64,bond-multicast-tx,default"}) {
		t.Errorf("cells %q", got)
	}
}

func TestMatrixFileIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"# nothing\n", "holds nothing but"},
		"no YAML":          {"scenarios: [a\n", "is not YAML"},
		"a list":           {"- a\n", "fields with values are wanted"},
		"two documents":    {"scenarios: [my.yaml]\n---\nset: {}\n", "a second document"},
		"brackets":         {strings.Repeat("[", 30) + strings.Repeat("]", 30), "brackets within each other"},
		"unknown field":    {"scenarios: [bond-multicast-tx]\nkernel: x\n", "m.yaml:2:1: there is no field \"kernel\""},
		"no scenarios":     {"kernels: [host]\n", "names no scenario"},
		"scenarios a word": {"scenarios: bond-multicast-tx\n", "m.yaml:1:12: scenarios: is the text \"bond-multicast-tx\"; a list is wanted"},
		"empty list":       {"scenarios: []\n", "is an empty list"},
		"unknown scenario": {"scenarios: [bond-nowhere]\n", "m.yaml:1:13: scenarios: "},
		"scenario file":    {"scenarios: [./none.yaml]\n", "none.yaml: no such file"},
		"scenario twice":   {"scenarios: [bond-multicast-tx, bond-multicast-tx]\n", "m.yaml:1:32: scenarios: two scenarios are called bond-multicast-tx"},
		"kernel twice":     {"scenarios: [./my.yaml]\nkernels: [./bzImage, {kernel: bzImage}]\n", "two kernels are called bzImage"},
		"kernel missing":   {"scenarios: [./my.yaml]\nkernels: [{name: x}]\n", "kernel is missing"},
		"kernel's field":   {"scenarios: [./my.yaml]\nkernels: [{kernel: host, module: {}}]\n", "there is no field \"module\"; a kernel has"},
		"kernel not there": {"scenarios: [./my.yaml]\nkernels: [./none]\n", "m.yaml:2:11: kernels: stat"},
		"modules' folder":  {"scenarios: [./my.yaml]\nkernels: [{kernel: host, modules_dir: ./none}]\n", "none: no such file"},
		"module not there": {"scenarios: [./my.yaml]\nsettings: {a: {module.bonding: ./none.ko}}\n", "settings.a.module.bonding: stat"},
		"name":             {"scenarios: [./my.yaml]\nsettings: {a/b: {}}\n", "\"a/b\" can't be a name"},
		"name of dots":     {"scenarios: [./my.yaml]\nsettings: {..: {}}\n", "can't be a name"},
		"long name":        {"scenarios: [./my.yaml]\nsettings: {" + strings.Repeat("a", 71) + ": {}}\n", "longer than 70"},
		"setting twice":    {"scenarios: [./my.yaml]\nsettings: {a: {}, a: {}}\n", "m.yaml:2:19: settings.a: is given twice"},
		"unknown path":     {"scenarios: [./my.yaml]\nsettings:\n  a:\n    traffic.sender: 8\n", "did you mean senders"},
		"place of it":      {"scenarios: [./my.yaml]\nsettings:\n  a:\n    traffic.sender: 8\n", "m.yaml:4:5: settings.a.traffic.sender: scenario my: "},
		"wrong value":      {"scenarios: [./my.yaml]\nset: {traffic.senders: many}\n", "set.traffic.senders: scenario my: "},
		"module's name":    {"scenarios: [./my.yaml]\nset: {module.: ./bonding.ko}\n", "m.yaml:2:7: set: names no module"},
		"no value":         {"scenarios: [./my.yaml]\nset: {traffic.senders: }\n", "has no value"},
		"several lines":    {"scenarios: [./my.yaml]\nset:\n  traffic.socket:\n    sndbuf: 1\n    priority: 2\n", "must stand on one line"},
		"rule broken":      {"scenarios: [./my.yaml]\nsettings: {a: {traffic.payload: 9000}}\n", "m.yaml:2:12: settings.a: scenario my: traffic.payload: "},
		"no_control":       {"scenarios: [./my.yaml]\nno_control: perhaps\n", "true or false is wanted"},
		"not UTF-8":        {"\xff", "is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan(t, c.text)
			if err == nil {
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
		})
	}
}

func TestErrorShowsThePlace(t *testing.T) {
	_, err := plan(t, "scenarios: [./my.yaml]\nsettings: {a: {traffic.sender: 8}}\n")
	if err == nil || !strings.Contains(err.Error(), "\n    settings: {a: {traffic.sender: 8}}\n") || !strings.HasSuffix(err.Error(), "^") {
		t.Errorf("no line with a caret: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(twelve))
	f.Add([]byte("scenarios: [a]\nsettings: {b: {c: d}}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		parsed, err := readFile("m.yaml", src)
		if err == nil && len(parsed.scenarios) == 0 {
			t.Error("taken without a scenario")
		}
	})
}
