package main

import (
	"bytes"
	"fmt"
	"strings"
)

// rustProof reads one byte of a value at compile time. Rust 1.63 has no offset_of.
const rustProof = `
/// Reads the byte at N of a value.
#[allow(dead_code)] // where constants without a name do not count as uses
const fn byte_at<T: Copy, const N: usize>(whole: T) -> u8 {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct After<const N: usize> {
        before: [core::mem::MaybeUninit<u8>; N],
        byte: u8,
    }
    union Peek<T: Copy, const N: usize> {
        whole: T,
        after: After<N>,
    }
    // SAFETY: the byte belongs to a field, and fields hold plain numbers.
    unsafe { Peek::<T, N> { whole }.after.byte }
}

/// Proves where a field begins: its first byte is made 1, and is found there.
macro_rules! place {
    ($s:ident . $f:ident at $n:literal: $one:expr) => {
        const _: () = assert!(byte_at::<$s, $n>($s { $f: $one, ..$s::ZERO }) == 1);
    };
}
`

// rustLayouts writes the layouts for guests in Rust, with an assertion on every size and offset, as rustfmt would.
func rustLayouts(s *Schema) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "/// Major version of the ABI that these layouts describe.\npub const MAJOR: u16 = %d;\n/// Minor version of the same.\npub const MINOR: u16 = %d;\n", s.Major, s.Minor)
	b.WriteString(rustProof)
	for _, e := range s.Enums {
		rustEnum(&b, e)
	}
	for _, st := range s.Structs {
		rustStruct(&b, s, st)
	}
	return b.Bytes()
}

// rustEnum writes a number with names: whatever the host writes is a value of it.
func rustEnum(b *bytes.Buffer, e Enum) {
	n := e.Name
	fmt.Fprintf(b, "\n/// %s\n#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]\n#[repr(transparent)]\npub struct %s(pub %s);\n\nimpl %s {\n", e.Doc, n, e.Type, n)
	for _, v := range e.Values {
		fmt.Fprintf(b, "    /// %s\n    pub const %s: %s = %s(%d);\n", sentence(v.Doc), strings.ToUpper(snake(v.Name)), n, n, v.Value)
	}
	if !e.Bits {
		fmt.Fprintf(b, "\n    /// The value's name in the schema, or `unknown`.\n    pub const fn name(self) -> &'static str {\n        match self.0 {\n")
		for _, v := range e.Values {
			fmt.Fprintf(b, "            %d => %q,\n", v.Value, snake(v.Name))
		}
		b.WriteString("            _ => \"unknown\",\n        }\n    }\n}\n")
		return
	}
	fmt.Fprintf(b, "\n    /// Reports whether all of `want` are in the set.\n    pub const fn has(self, want: %s) -> bool {\n        self.0 & want.0 == want.0\n    }\n", n)
	fmt.Fprintf(b, "\n    /// The union of two sets, as `|` gives it; this one in constants too.\n    pub const fn and(self, other: %s) -> %s {\n        %s(self.0 | other.0)\n    }\n}\n", n, n, n)
	fmt.Fprintf(b, "\nimpl core::ops::BitOr for %s {\n    type Output = %s;\n\n    fn bitor(self, other: %s) -> %s {\n        self.and(other)\n    }\n}\n", n, n, n, n)
}

func rustStruct(b *bytes.Buffer, s *Schema, st Struct) {
	fmt.Fprintf(b, "\n/// %s\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\n#[repr(C)]\npub struct %s {\n", st.Doc, st.Name)
	for _, f := range st.Fields {
		if f.Optional {
			b.WriteString("    #[doc(hidden)]\n")
		} else {
			fmt.Fprintf(b, "    /// %s\n", sentence(f.Doc))
		}
		fmt.Fprintf(b, "    pub %s: %s,\n", rustField(f), rustType(f))
	}
	fmt.Fprintf(b, "}\n\nimpl %s {\n    /// Size in bytes.\n    pub const SIZE: usize = %d;\n\n    /// All zero.\n    pub const ZERO: %s = %s {\n", st.Name, st.Size, st.Name, st.Name)
	for _, f := range st.Fields {
		fmt.Fprintf(b, "        %s: %s,\n", rustField(f), rustArray(f, rustZero(f)))
	}
	b.WriteString("    };\n")
	for _, f := range st.Fields {
		if f.Optional {
			rustOptional(b, st.Name, f)
		}
	}
	fmt.Fprintf(b, "}\n\nimpl Default for %s {\n    fn default() -> %s {\n        %s::ZERO\n    }\n}\n\n", st.Name, st.Name, st.Name)
	fmt.Fprintf(b, "const _: () = assert!(core::mem::size_of::<%s>() == %s::SIZE);\n", st.Name, st.Name)
	for _, f := range st.Fields {
		fmt.Fprintf(b, "place!(%s.%s at %d: %s);\n", st.Name, rustField(f), f.Offset, rustArray(f, rustOne(s, f)))
	}
}

// rustOptional writes the only two ways to an optional field.
func rustOptional(b *bytes.Buffer, owner string, f *Field) {
	fmt.Fprintf(b, "\n    /// %s\n    pub const fn %s(&self) -> Option<%s> {\n        if self.valid & (1 << %d) == 0 {\n            return None;\n        }\n        Some(self.%s)\n    }\n",
		sentence(f.Doc), f.Name, rustType(f), f.Bit, rustField(f))
	fmt.Fprintf(b, "\n    /// The same with a value for [`%s::%s`], for tests.\n    pub const fn with_%s(mut self, x: %s) -> %s {\n        self.valid |= 1 << %d;\n        self.%s = x;\n        self\n    }\n",
		owner, f.Name, f.Name, rustType(f), owner, f.Bit, rustField(f))
}

// rustField keeps an optional field from being read without a look at its bit.
func rustField(f *Field) string {
	if f.Optional {
		return "raw_" + f.Name
	}
	return f.Name
}

func rustElem(f *Field) string {
	if f.Enum != "" {
		return f.Enum
	}
	return f.Elem
}

func rustType(f *Field) string { return rustArray(f, rustElem(f)) }

func rustArray(f *Field, elem string) string {
	if f.IsArray() {
		return fmt.Sprintf("[%s; %d]", elem, f.Count)
	}
	return elem
}

func rustZero(f *Field) string {
	switch {
	case f.Enum != "":
		return f.Enum + "(0)"
	case scalarSizes[f.Elem] == 0:
		return f.Elem + "::ZERO"
	}
	return "0"
}

// rustOne is a value whose first byte is 1.
func rustOne(s *Schema, f *Field) string {
	if f.Enum != "" {
		return f.Enum + "(1)"
	}
	for i := range s.Structs {
		if st := &s.Structs[i]; st.Name == f.Elem {
			first := st.Fields[0]
			return fmt.Sprintf("%s { %s: %s, ..%s::ZERO }", st.Name, rustField(first), rustArray(first, rustOne(s, first)), st.Name)
		}
	}
	return "1"
}

// sentence begins with a capital and ends with a full stop, but leaves a name of the ABI as it is.
func sentence(s string) string {
	if strings.HasPrefix(s, "sluice_") {
		return "`" + strings.ReplaceAll(s, " and ", "` and `") + "`."
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
