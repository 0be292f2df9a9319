package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/docs"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/sluice-dev/sluice/plugins/store"
)

// document is the API's description, in which no answer may hold a field that is not described.
var document = func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		panic(err)
	}
	no := false
	for _, s := range doc.Components.Schemas {
		if len(s.Value.Properties) > 0 {
			s.Value.AdditionalProperties = openapi3.BoolSchema{Has: &no}
		}
	}
	openapi3filter.RegisterBodyDecoder(ProblemType, openapi3filter.RegisteredBodyDecoder("application/json"))
	openapi3filter.RegisterBodyDecoder(NDJSON, openapi3filter.RegisteredBodyDecoder("text/plain"))
	openapi3filter.RegisterBodyDecoder("application/wasm", openapi3filter.FileBodyDecoder)
	return doc
}()

// operation finds what the document says about a request, nil if it says nothing.
func operation(req *http.Request) (*routers.Route, map[string]string) {
	for _, path := range document.Paths.InMatchingOrder() {
		names := regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1)
		re := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "([^/]*)") + "$")
		found := re.FindStringSubmatch(req.URL.EscapedPath())
		item := document.Paths.Value(path)
		if found == nil || item.GetOperation(req.Method) == nil {
			continue
		}
		params := map[string]string{}
		for i, n := range names {
			params[n[1]] = found[i+1]
		}
		return &routers.Route{Spec: document, Path: path, PathItem: item, Method: req.Method, Operation: item.GetOperation(req.Method)}, params
	}
	return nil, nil
}

// documented checks an answer against the document, and its request too if it was a success.
func documented(t *testing.T, req *http.Request, sent string, code int, header http.Header, body string) {
	t.Helper()
	what := req.Method + " " + req.URL.RequestURI()
	route, params := operation(req)
	if route == nil {
		if code < 400 || document.Components.Schemas["Problem"].Value.VisitJSON(decode(t, body), openapi3.EnableJSONSchema2020()) != nil {
			t.Errorf("%s is not documented, and %d %s is no problem", what, code, body)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route, QueryParams: req.URL.Query(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if code < 300 {
		req.Body = io.NopCloser(strings.NewReader(sent))
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			t.Errorf("%s was taken, but the document forbids it: %v", what, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: code, Header: header, Options: in.Options, Body: io.NopCloser(strings.NewReader(body)),
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s answered %d %s, which is not documented: %v", what, code, body, err)
	}
}

func decode(t *testing.T, body string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%v in %s", err, body)
	}
	return v
}

func TestDocumentIsOpenAPI31(t *testing.T) {
	if !strings.HasPrefix(document.OpenAPI, "3.1.") {
		t.Errorf("version %s", document.OpenAPI)
	}
	fresh, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	a := start(t, Options{})
	code, header, body := a.do("GET", "/openapi.json", "", nil)
	if code != 200 || header.Get("Content-Type") != "application/json" || !bytes.Equal([]byte(body), docs.OpenAPI) {
		t.Errorf("served: %d %s, %d bytes", code, header.Get("Content-Type"), len(body))
	}
}

// Every route is in the document, and everything in the document is a route.
func TestDocumentAndRoutesAreTheSame(t *testing.T) {
	s := New(Options{Policies: new(registry.Registry), Traces: fill(t), Config: &told{}, Metrics: http.NotFoundHandler()})
	param := regexp.MustCompile(`:(\w+)`)
	var routes, described []string
	for _, r := range s.app.GetRoutes(true) {
		if r.Method == fiber.MethodHead {
			continue // comes with each GET
		}
		path := param.ReplaceAllString(r.Path, "{$1}")
		routes = append(routes, r.Method+" "+strings.ReplaceAll(path, "*", "{profile}"))
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes\n  %s\ndescribed\n  %s", strings.Join(routes, "\n  "), strings.Join(described, "\n  "))
	}
}

// A field that is added to an answer is described: answers of tests do not hold every optional one.
func TestDocumentDescribesEveryField(t *testing.T) {
	for name, v := range map[string]any{
		"Status": Status{}, "Policy": Policy{}, "PolicyList": PolicyList{}, "Problem": Problem{}, "Changed": Changed{}, "Shadow": Shadow{},
		"Difference": Difference{}, "ConfigValues": ConfigValues{}, "ConfigChange": Change{}, "Reload": Reload{},
		"SafeMode": SafeMode{}, "SafeModeRequest": SafeModeRequest{}, "History": History{},
		"Entry": registry.Entry{}, "Left": store.Left{}, "Report": plugins.Report{}, "Test": plugins.Tested{},
		"ShadowHook": plugins.ShadowHook{}, "HookCalls": plugins.HookInfo{},
	} {
		schema := document.Components.Schemas[name]
		if schema == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		compareFields(t, name, reflect.TypeOf(v), schema.Value)
	}
}

func compareFields(t *testing.T, at string, typ reflect.Type, schema *openapi3.Schema) {
	t.Helper()
	var have []string
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || strings.HasSuffix(name, "_ns") { // of the host's clock: never shown
			continue
		}
		have = append(have, name)
		p := schema.Properties[name]
		if p == nil {
			t.Errorf("%s.%s is not described", at, name)
			continue
		}
		inner, described := f.Type, p.Value
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			if inner.Kind() == reflect.Slice && described.Items != nil {
				described = described.Items.Value
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && len(described.Properties) > 0 && described != schema {
			compareFields(t, at+"."+name, inner, described)
		}
	}
	for name := range schema.Properties {
		if !slices.Contains(have, name) {
			t.Errorf("%s.%s is described, but no answer has it", at, name)
		}
	}
}

// Every code that the server can give is described.
func TestDocumentDescribesEveryCode(t *testing.T) {
	var described []Code
	for _, c := range document.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		described = append(described, Code(c.(string)))
	}
	have := codes(t)
	slices.Sort(have)
	slices.Sort(described)
	if !slices.Equal(have, described) {
		t.Errorf("codes %q, described %q", have, described)
	}
}

// codes reads the constants of type Code.
func codes(t *testing.T) (all []Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Code" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			all = append(all, Code(text))
		}
		return true
	})
	return all
}
