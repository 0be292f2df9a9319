// Package grammar restricts what a model may write to the texts of a grammar: one in GBNF, the notation that llama.cpp made
// known, or one that follows from a JSON schema.
//
// It is not llama.cpp's own implementation, which cannot be bounded from outside: a grammar of three lines makes it double its
// work with each character, and deep nesting ends the process. Here all is bounded: source, nesting and repetition when a
// grammar is read, and the number of readings that are followed at a time when it is used. Beyond that, readings are dropped:
// what is written is still a text of the grammar, but not every such text can be written.
//
// Grammars work on bytes, so that tokens which end inside of a character are followed too.
//
//	g, err := grammar.Parse(`root ::= "yes" | "no"`)
//	src, err := grammar.Schema(schema) // GBNF for a JSON schema
//	v := grammar.NewVocab(tokenizer, vocabSize) // once a model
//	m := g.Matcher(v)                           // once a request
//	if !m.Allows(token) {
//		m.Mask(logits)
//	}
//	m.Accept(token)
package grammar
