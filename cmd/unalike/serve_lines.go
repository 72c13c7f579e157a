package main

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// placed is the text of a part of the file, a mapping, with each key in the line that it has in the
// file, so that errors name the right one.
func placed(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	line := 1
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := *n.Content[i], *n.Content[i+1]
		if i > 0 && key.Line == n.Content[i-2].Line { // as in {a: 1, b: 2}
			return inOneLine(n)
		}
		for _, c := range []*yaml.Node{&key, &value} {
			c.HeadComment, c.LineComment, c.FootComment = "", "", ""
		}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&key, &value}})
		if err != nil {
			return nil, err
		}
		for ; line < key.Line; line++ {
			b.WriteByte('\n')
		}
		b.Write(text)
		line += bytes.Count(text, []byte("\n"))
	}
	return b.Bytes(), nil
}

// inOneLine is the text of a mapping in the line in which it begins.
func inOneLine(n *yaml.Node) ([]byte, error) {
	flow := *n
	flow.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&flow)
	return slices.Concat(bytes.Repeat([]byte("\n"), max(0, n.Content[0].Line-1)), text), err
}
