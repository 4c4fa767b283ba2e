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
  scope text,
  CONSTRAINT mcp_reviews_status CHECK (status IN ('pending', 'claimed', 'approved', 'rejected', 'expired')),
  CONSTRAINT mcp_reviews_claim CHECK (
    status NOT IN ('claimed', 'approved', 'rejected')
    OR (claim_token > 0 AND claimed_by IS NOT NULL AND claimed_at IS NOT NULL AND lease_expires_at IS NOT NULL)
  ),
  CONSTRAINT mcp_reviews_decision CHECK (
    (status IN ('approved', 'rejected', 'expired')) = (decided_at IS NOT NULL)
    AND (status IN ('approved', 'rejected')) = (decided_by IS NOT NULL)
  ),
  CONSTRAINT mcp_reviews_scope CHECK (scope IS NULL OR status = 'approved' AND scope IN ('once', 'session', 'definition'))
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
COMMENT ON COLUMN mcp_reviews.decided_by IS 'Who decided, as they named themselves; page:NAME where it was on the page';
COMMENT ON COLUMN mcp_reviews.scope IS 'How far the approval of a call goes: once (also where it is null), session or definition';

-- Approvals of single tool calls that the policy gate holds for a person. The request is a review, which is claimed and
-- decided like any other; this table says for which call it is, how far an approval may go (one call, the session that
-- asked, or until the definition of the tool changes), and what became of it. The arguments stay bound in each: a call
-- with other arguments asks again.

CREATE TABLE mcp_approvals (
  review_id uuid PRIMARY KEY REFERENCES mcp_reviews ON DELETE CASCADE,
  fingerprint text NOT NULL,
  usable_ms double precision NOT NULL,
  used_at timestamptz,
  session_ms double precision,
  definition_ms double precision,
  subject text,
  definition_hash text,
  uses integer NOT NULL DEFAULT 0,
  last_used_at timestamptz,
  ended_at timestamptz,
  ended_by text,
  ended_note text,
  announced_at timestamptz,
  announce_after timestamptz NOT NULL DEFAULT now(),
  announce_tries integer NOT NULL DEFAULT 0
);
CREATE INDEX mcp_approvals_fingerprint ON mcp_approvals (fingerprint) WHERE used_at IS NULL;
CREATE INDEX mcp_approvals_subject ON mcp_approvals (subject) WHERE used_at IS NULL AND ended_at IS NULL;
CREATE INDEX mcp_approvals_unannounced ON mcp_approvals (announce_after) WHERE announced_at IS NULL;
COMMENT ON TABLE mcp_approvals IS 'Reviews that approve one exact tool call: at most once, for a session, or for a definition';
COMMENT ON COLUMN mcp_approvals.fingerprint IS 'SHA-256 of the call that the content of the review shows, hex: of caller, server, tool, definition, digest, policy and arguments as a JSON array';
COMMENT ON COLUMN mcp_approvals.used_at IS 'When a process took it for its call; no other process can';
COMMENT ON COLUMN mcp_approvals.usable_ms IS 'How long after the decision it can be used once, and a rejection stands, in milliseconds';
COMMENT ON COLUMN mcp_approvals.session_ms IS 'How long one for the session (session_id of the review) can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.definition_ms IS 'How long one for the definition can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.subject IS 'SHA-256 of caller, server and tool, hex';
COMMENT ON COLUMN mcp_approvals.definition_hash IS 'Definition it is for, hex; a call under another one ends it';
COMMENT ON COLUMN mcp_approvals.uses IS 'Calls that were made with it';
COMMENT ON COLUMN mcp_approvals.ended_at IS 'When it was revoked, or a call came under another definition; it approves nothing since';
COMMENT ON COLUMN mcp_approvals.ended_by IS 'Who revoked it; null where the definition changed';
COMMENT ON COLUMN mcp_approvals.announced_at IS 'When the webhook took the request';

-- What was used for its one call, or ended, stays so, whoever writes; only its announcement may still be noted.
CREATE FUNCTION mcp_approvals_keep_used() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the approval % was % and cannot be changed', OLD.review_id,
    CASE WHEN OLD.used_at IS NULL THEN 'ended' ELSE 'used' END USING ERRCODE = 'P0001';
END
$function$;
CREATE TRIGGER mcp_approvals_keep_used BEFORE UPDATE ON mcp_approvals
  FOR EACH ROW WHEN ((OLD.used_at IS NOT NULL OR OLD.ended_at IS NOT NULL) AND (
    OLD.fingerprint, OLD.used_at, OLD.uses, OLD.last_used_at, OLD.ended_at, OLD.ended_by, OLD.ended_note, OLD.usable_ms,
    OLD.session_ms, OLD.definition_ms
  ) IS DISTINCT FROM (
    NEW.fingerprint, NEW.used_at, NEW.uses, NEW.last_used_at, NEW.ended_at, NEW.ended_by, NEW.ended_note, NEW.usable_ms,
    NEW.session_ms, NEW.definition_ms))
  EXECUTE FUNCTION mcp_approvals_keep_used();
