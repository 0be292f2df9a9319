package cases

import (
	"slices"

	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// The keys of a case, and of a step. A case of one step may have that step's keys itself.
var (
	headKeys  = []string{"name", "config", "refused", "hook", "state", "row"}
	inputKeys = []string{"rows", "events", "expect", "log"}
	caseKeys  = append(append([]string{"steps"}, headKeys...), inputKeys...)
	stepKeys  = append([]string{"config", "hook", "state"}, inputKeys...)
)

// Decode reads the cases of a file: one, or a list of them. Errors are *notation.Error.
func Decode(file string, text []byte) ([]Case, error) {
	doc, err := notation.Parse(file, text)
	if err != nil {
		return nil, err
	}
	items := doc.Items
	if doc.Kind == notation.Map {
		items = []*notation.Node{doc}
	} else if err := doc.Want(notation.List, "the file"); err != nil {
		return nil, err
	}
	var all []Case
	for _, n := range items {
		c, err := decodeCase(n)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(o Case) bool { return o.Name == c.Name }); i >= 0 {
			return nil, n.Errorf("a second case is named %q; the first is in line %d", c.Name, all[i].Line)
		}
		all = append(all, *c)
	}
	return all, nil
}

func decodeCase(n *notation.Node) (*Case, error) {
	if err := n.Want(notation.Map, "a case"); err != nil {
		return nil, err
	}
	if err := n.Only("a case", caseKeys...); err != nil {
		return nil, err
	}
	c := &Case{File: n.File, Line: n.Line}
	if err := c.head(n); err != nil {
		return nil, err
	}
	for i := range n.Members {
		m := &n.Members[i]
		if (c.Refused != "" || n.Get("steps") != nil) && slices.Contains(inputKeys, m.Key) {
			return nil, m.Errorf("%s does not belong here: it is a step's", m.Key)
		}
	}
	switch steps := n.Get("steps"); {
	case c.Refused != "" && steps != nil:
		return nil, steps.Errorf("a policy that is refused takes no steps")
	case c.Refused != "":
		return c, nil
	case steps != nil:
		return c, c.steps(n, steps)
	}
	s, err := newScene(n).step(n)
	if err != nil {
		return nil, err
	}
	s.Config = nil // it is the case's
	c.Steps = []Step{*s}
	return c, nil
}

// head reads what says which policy is asked.
func (c *Case) head(n *notation.Node) (err error) {
	name := n.Get("name")
	if name == nil {
		return n.Errorf("the case has no name")
	}
	if err := name.Want(notation.Scalar, "name"); err != nil {
		return err
	}
	c.Name = name.Text
	if c.Config, err = settings(n.Get("config")); err != nil {
		return err
	}
	if r := n.Get("refused"); r != nil {
		if err := r.Want(notation.Scalar, "refused"); err != nil {
			return err
		}
		c.Refused = r.Text
	}
	return nil
}

func (c *Case) steps(n, steps *notation.Node) error {
	if err := steps.Want(notation.List, "steps"); err != nil {
		return err
	}
	if len(steps.Items) == 0 {
		return steps.Errorf("there is no step")
	}
	scene := newScene(n)
	for _, item := range steps.Items {
		if err := item.Want(notation.Map, "a step"); err != nil {
			return err
		}
		if err := item.Only("a step", stepKeys...); err != nil {
			return err
		}
		s, err := scene.step(item)
		if err != nil {
			return err
		}
		c.Steps = append(c.Steps, *s)
	}
	return nil
}

// settings reads a configuration; nil when there is none.
func settings(n *notation.Node) (map[string]string, error) {
	if n == nil {
		return nil, nil
	}
	if n.Kind == notation.Null {
		return map[string]string{}, nil
	}
	if err := n.Want(notation.Map, "config"); err != nil {
		return nil, err
	}
	set := map[string]string{}
	for i := range n.Members {
		m := &n.Members[i]
		if err := m.Value.Want(notation.Scalar, m.Key); err != nil {
			return nil, err
		}
		set[m.Key] = m.Value.Text
	}
	return set, nil
}

// hookOf reads the name of a hook.
func hookOf(n *notation.Node) (abi.Hook, error) {
	if err := n.Want(notation.Scalar, "hook"); err != nil {
		return 0, err
	}
	h, ok := sandbox.HookNamed(n.Text)
	if !ok {
		return 0, n.Errorf("there is no hook %q to ask; there are %v", n.Text, sandbox.Names())
	}
	return h, nil
}
