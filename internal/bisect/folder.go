package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"bondrepro/internal/gitrepo"
)

// folderName is a bisect's folder: in the git directory of a history of commits, in the current folder otherwise.
const folderName = "bondrepro-bisect"

// Folder is where a bisect of these params has its journal, unless the user names another.
func Folder(ctx context.Context, p Params) (string, error) {
	switch {
	case p.Tree != nil:
		return gitFolder(ctx, p.Tree.Repo)
	case p.Module != nil:
		return gitFolder(ctx, p.Module.Source)
	}
	return filepath.Abs(folderName)
}

func gitFolder(ctx context.Context, dir string) (string, error) {
	repo, err := gitrepo.Open(ctx, dir)
	if err != nil {
		return "", asUsage(err)
	}
	name, err := repo.GitPath(ctx, folderName)
	if err != nil {
		return "", err
	}
	return filepath.Abs(name)
}

// Find gives the folder of the bisect that is meant where none is named: that of the repository we stand in, else that
// of the current folder.
func Find(ctx context.Context) (string, error) {
	here, err := filepath.Abs(folderName)
	if err != nil {
		return "", err
	}
	places := []string{here}
	if in, err := gitFolder(ctx, "."); err == nil {
		places = []string{in, here}
	}
	for _, folder := range places {
		if _, err := os.Stat(filepath.Join(folder, journalName)); err == nil {
			return folder, nil
		}
	}
	return "", &UsageError{Err: fmt.Errorf("there is no bisect here: name its folder with --dir, as it was told when the bisect began")}
}
