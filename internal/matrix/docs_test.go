package matrix

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bondrepro/internal/osrun"

	"github.com/goccy/go-yaml"
)

// block is one fenced block of the documentation.
var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// The examples of docs/matrix.md are what they are said to be: a matrix, YAML, shell.
func TestExamplesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		kind, body := m[1], m[2]
		seen[kind]++
		switch {
		case kind == "sh":
			if _, err := osrun.Run(t.Context(), osrun.Cmd{Path: "sh", Args: []string{"-n"}, Stdin: strings.NewReader(body), Timeout: time.Minute}); err != nil {
				t.Errorf("%v in:\n%s", err, body)
			}
		case strings.HasPrefix(body, "# kernels.yaml"):
			dir := t.TempDir()
			for _, name := range []string{"linux", "bzImage", "modules", "bonding.ko", "patched.ko"} {
				write(t, filepath.Join(dir, name), "")
			}
			write(t, filepath.Join(dir, "my.yaml"), "summary: mine\n")
			p, err := Read(write(t, filepath.Join(dir, "kernels.yaml"), body))
			if err != nil || len(p.Cells) != 18 {
				t.Errorf("%d cells, want 18: %v", len(p.Cells), err)
			}
		case kind == "yaml":
			for doc := range strings.SplitSeq(body, "\n---\n") {
				var v map[string]any
				if err := yaml.Unmarshal([]byte(doc), &v); err != nil || len(v) < 3 {
					t.Errorf("%v in:\n%s", err, doc)
				}
				data, _ := v["data"].(map[string]any)
				for name, inner := range data { // the matrix of the ConfigMap
					if _, err := readFile(name, []byte(inner.(string))); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if seen["yaml"] != 3 || seen["sh"] != 2 {
		t.Errorf("blocks %v: 3 of YAML and 2 of shell were there", seen)
	}
}
