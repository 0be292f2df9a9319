// Package docs holds the documents that the binary itself serves. The others in this folder are for reading.
//
//	w.Write(docs.OpenAPI)
package docs

import _ "embed"

// OpenAPI describes the admin API, as OpenAPI 3.1 in JSON. The tests of host/admin hold it against the handlers.
//
//go:embed openapi.json
var OpenAPI []byte
