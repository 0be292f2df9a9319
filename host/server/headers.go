package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/oklog/ulid/v2"
	"github.com/sluice-dev/sluice/host/engine"
)

// Headers of requests. Durations are Go durations or plain numbers of seconds.
const (
	headerClass    = "x-sluice-class"
	headerPriority = "x-sluice-priority"
	headerTenant   = "x-sluice-tenant"
	headerTTL      = "x-sluice-queue-ttl"
	headerDeadline = "x-sluice-deadline"
	headerTTFT     = "x-sluice-ttft"
	headerSpec     = "x-sluice-speculation"
	headerAttempt  = "x-stainless-retry-count" // the official clients count their retries
)

const (
	maxIDBytes     = 128
	maxTenantBytes = 256
	maxDuration    = 24 * time.Hour
)

// requestID is the client's own id when it is fit to be echoed and logged, else a new one.
func requestID(c *fiber.Ctx) string {
	id := c.Get(headerRequestID)
	if id == "" || len(id) > maxIDBytes || strings.IndexFunc(id, notIDRune) >= 0 {
		return ulid.Make().String()
	}
	return strings.Clone(id)
}

func notIDRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/+=", r))
}

// fillCommon takes over what both kinds of request have, after checking that it can be honoured.
func (k *call) fillCommon(c *fiber.Ctx, f *common, r *refused) error {
	if err := k.s.checkModel(f.Model); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := f.fill(k); err != nil {
		return err
	}
	return k.fillHeaders(c, f)
}

// fillHeaders takes over what headers say beyond the body; a header wins over the field of the same meaning.
func (k *call) fillHeaders(c *fiber.Ctx, f *common) error {
	for _, fill := range []func(*fiber.Ctx, *common) error{k.fillClass, k.fillPriority, k.fillTenant, k.fillTimes, k.fillRest} {
		if err := fill(c, f); err != nil {
			return err
		}
	}
	return nil
}

func (k *call) fillClass(c *fiber.Ctx, f *common) error {
	name := c.Get(headerClass, f.Class)
	if name == "" {
		return nil
	}
	i := slices.Index(k.s.cfg.Classes, name)
	if i < 0 {
		return badRequest("class", "unknown_class", "class %.64q is not known; there are %s", name, strings.Join(k.s.cfg.Classes, ", "))
	}
	k.req.Class = uint8(i)
	return nil
}

func (k *call) fillPriority(c *fiber.Ctx, f *common) error {
	p := value(f.Priority)
	if text := c.Get(headerPriority); text != "" {
		var err error
		if p, err = strconv.ParseInt(text, 10, 64); err != nil {
			return badRequest("priority", codeType, "%s must be an integer, but is %.40q", headerPriority, text)
		}
	}
	if p < math.MinInt32 || p > math.MaxInt32 {
		return badRequest("priority", codeValue, "priority must fit 32 bits, but is %d", p)
	}
	k.req.Priority = int32(p)
	return nil
}

// fillTenant names who asks: the header or the field, else the API key by its hash. The key itself is kept nowhere.
func (k *call) fillTenant(c *fiber.Ctx, f *common) error {
	if t := c.Get(headerTenant, f.Tenant); t != "" {
		if len(t) > maxTenantBytes {
			return badRequest("tenant", codeValue, "the tenant's name has %d bytes, at most %d", len(t), maxTenantBytes)
		}
		k.req.Tenant = strings.Clone(t)
		return nil
	}
	if key := c.Get(fiber.HeaderAuthorization); key != "" {
		sum := sha256.Sum256([]byte(key))
		k.req.Tenant = "key:" + hex.EncodeToString(sum[:8])
	}
	return nil
}

// fillTimes takes over what the client will wait for. Its time in the queue can only be less than its class's.
func (k *call) fillTimes(c *fiber.Ctx, f *common) error {
	for _, t := range []struct {
		header, field string
		raw           json.RawMessage
		dst           *int64
	}{
		{headerTTL, "queue_ttl", f.QueueTTL, &k.req.TTL}, {headerDeadline, "deadline", f.Deadline, &k.req.Deadline},
		{headerTTFT, "ttft", f.TTFT, &k.req.TTFT},
	} {
		name, text := t.header, c.Get(t.header)
		if text == "" {
			if !present(t.raw) {
				continue
			}
			name, text = t.field, strings.Trim(string(t.raw), `"`)
		}
		d, err := parseDuration(text)
		if err != nil {
			return badRequest(t.field, codeValue, "%s must be a positive duration such as 2.5s, or seconds, up to %v, but is %.40q", name, maxDuration, text)
		}
		*t.dst = int64(d)
	}
	if ttl := int64(k.s.settings.Load().QueueTTL[k.req.Class]); ttl > 0 && (k.req.TTL == 0 || k.req.TTL > ttl) {
		k.req.TTL = ttl
	}
	return nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if s, numErr := strconv.ParseFloat(text, 64); numErr == nil && s <= maxDuration.Seconds() {
		d, err = time.Duration(s*1e9), nil
	}
	if err == nil && (d <= 0 || d > maxDuration) {
		err = fmt.Errorf("parse duration: %v is out of range", d)
	}
	return d, err
}

func (k *call) fillRest(c *fiber.Ctx, _ *common) error {
	switch text := c.Get(headerSpec); text {
	case "", "on":
	case "off":
		k.req.NoSpec = true
	default:
		return badRequest("", codeValue, "%s must be on or off, but is %.40q", headerSpec, text)
	}
	if n, err := strconv.ParseUint(c.Get(headerAttempt), 10, 16); err == nil {
		k.req.Attempt = int(n)
	}
	return nil
}

// tenantName is how logs name a tenant: as the traces do.
func tenantName(tenant string) string {
	if tenant == "" {
		return ""
	}
	return fmt.Sprintf("%016x", engine.TenantHash(tenant))
}
