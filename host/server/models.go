package server

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
)

// started is the "created" of the model: when this process began to serve it.
var started = time.Now().Unix()

type modelInfo struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Root        string `json:"root"`
	MaxModelLen int    `json:"max_model_len"`
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelInfo `json:"data"`
}

func (s *Server) model() modelInfo {
	return modelInfo{s.cfg.Info.Model, "model", started, "sluice", s.cfg.Info.Model, s.cfg.MaxModelLen}
}

func (s *Server) listModels(c *fiber.Ctx) error {
	return c.JSON(modelList{"list", []modelInfo{s.model()}})
}

func (s *Server) showModel(c *fiber.Ctx) error {
	id, err := url.PathUnescape(c.Params("*"))
	if err != nil || id != s.cfg.Info.Model {
		return modelNotFound(id)
	}
	return c.JSON(s.model())
}

func modelNotFound(id string) error {
	return &apiError{
		status: http.StatusNotFound, param: "model", code: "model_not_found",
		message: fmt.Sprintf("the model %.200q does not exist; see /v1/models", id),
	}
}
