-- Answers and calls that wait for a person: the built-in queue of the fallback human_review.
--
-- A worker claims a review for the time of a lease; each claim has a higher claim_token, and a decision names the token
-- of its claim. So a worker that crashes loses nothing, because its claim lapses, and one that comes back late decides
-- nothing, because another has claimed the review since.

CREATE TABLE mcp_reviews (
  review_id uuid PRIMARY KEY,
  status text NOT NULL DEFAULT 'pending',
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  fallback_reason text NOT NULL,
  tool_name text,
  service text,
  model text,
  risk_tier text,
  prompt_template_id text,
  session_id text,
  confidence double precision,
  hallucination_risk_score double precision,
  trace_id uuid,
  span_id uuid,
  -- As it was given, which jsonb would not keep: \u0000 and the order of members.
  content json NOT NULL,
  claim_token integer NOT NULL DEFAULT 0,
  claimed_by text,
  claimed_at timestamptz,
  lease_expires_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  note text,
  response json,
  CONSTRAINT mcp_reviews_status CHECK (status IN ('pending', 'claimed', 'approved', 'rejected', 'expired')),
  CONSTRAINT mcp_reviews_claim CHECK (
    status NOT IN ('claimed', 'approved', 'rejected')
    OR (claim_token > 0 AND claimed_by IS NOT NULL AND claimed_at IS NOT NULL AND lease_expires_at IS NOT NULL)
  ),
  CONSTRAINT mcp_reviews_decision CHECK (
    (status IN ('approved', 'rejected', 'expired')) = (decided_at IS NOT NULL)
    AND (status IN ('approved', 'rejected')) = (decided_by IS NOT NULL)
  )
);

-- Open reviews are few and decided ones many: what claims and expires looks at the open ones alone.
CREATE INDEX mcp_reviews_open ON mcp_reviews (created_at, review_id) WHERE status IN ('pending', 'claimed');
CREATE INDEX mcp_reviews_open_expires_at ON mcp_reviews (expires_at) WHERE status IN ('pending', 'claimed');
CREATE INDEX mcp_reviews_status_created_at ON mcp_reviews (status, created_at DESC);
CREATE INDEX mcp_reviews_trace_id ON mcp_reviews (trace_id) WHERE trace_id IS NOT NULL;

-- What was decided stays as it was decided, whoever writes.
CREATE FUNCTION mcp_reviews_keep_decided() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the review % is % and cannot be changed', OLD.review_id, OLD.status USING ERRCODE = 'P0001';
END
$function$;

CREATE TRIGGER mcp_reviews_keep_decided BEFORE UPDATE ON mcp_reviews
  FOR EACH ROW WHEN (OLD.status IN ('approved', 'rejected', 'expired')) EXECUTE FUNCTION mcp_reviews_keep_decided();

COMMENT ON TABLE mcp_reviews IS 'Answers and calls that wait for a person, one row each; written by mcp-observatory';
COMMENT ON COLUMN mcp_reviews.status IS 'pending, claimed, approved, rejected or expired; the last three are final';
COMMENT ON COLUMN mcp_reviews.expires_at IS 'Undecided at that time, it can no longer be decided';
COMMENT ON COLUMN mcp_reviews.fallback_reason IS 'Why a person is asked: low_confidence, high_hallucination, tool_error, policy_violation ...';
COMMENT ON COLUMN mcp_reviews.trace_id IS 'Trace of the fallback, as in mcp_traces';
COMMENT ON COLUMN mcp_reviews.span_id IS 'Span of the fallback, as in mcp_traces';
COMMENT ON COLUMN mcp_reviews.content IS 'What the worker looks at: prompt, arguments, refused answer';
COMMENT ON COLUMN mcp_reviews.claim_token IS 'How often it was claimed; a decision names the newest token';
COMMENT ON COLUMN mcp_reviews.lease_expires_at IS 'From then on another worker may claim it';
COMMENT ON COLUMN mcp_reviews.response IS 'The answer that an approval gave, when it gave one';
