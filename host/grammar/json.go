package grammar

// JSON is the grammar of one JSON object. Numbers have at most 16 digits before and after the point and two in the exponent, and between two parts there
// is at most one line break with 16 blanks, so that a model cannot fill its answer with either.
const JSON = "root ::= object\n" + jsonRules

const jsonRules = `value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" char* "\"" ws
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2}))
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]{0,15}) ws
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})? ws
boolean ::= ("true" | "false") ws
null ::= "null" ws
ws ::= (" " | "\n" [ \t]{0,16})?
`
