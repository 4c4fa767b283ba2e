-- Approvals of single tool calls that the policy gate holds for a person. The request is a review, which is claimed and
-- decided like any other; this table says for which call it is, and when the approval was used.

CREATE TABLE mcp_approvals (
  review_id uuid PRIMARY KEY REFERENCES mcp_reviews ON DELETE CASCADE,
  fingerprint text NOT NULL,
  usable_ms double precision NOT NULL,
  used_at timestamptz
);
CREATE INDEX mcp_approvals_fingerprint ON mcp_approvals (fingerprint) WHERE used_at IS NULL;
COMMENT ON TABLE mcp_approvals IS 'Reviews that approve one exact tool call, used at most once';
COMMENT ON COLUMN mcp_approvals.fingerprint IS 'SHA-256 of caller, server, tool, definition, arguments and policy, hex';
COMMENT ON COLUMN mcp_approvals.usable_ms IS 'How long after the decision it can be used, and a rejection stands, in milliseconds';
COMMENT ON COLUMN mcp_approvals.used_at IS 'When a process took it for its call; no other process can';

-- Takes the approval of a call, or asks for one. Answers `approved` once for each approval, `rejected` while a rejection
-- stands, else `waiting` with the open request, which it makes if there is none. One caller at a time per fingerprint.
CREATE FUNCTION mcp_approvals_take(
  a_fingerprint text, a_usable_ms double precision, a_id uuid, a_expires_ms double precision, a_tool text,
  a_trace_id uuid, a_span_id uuid, a_content json
) RETURNS TABLE (approval uuid, state text, person text, remark text)
LANGUAGE plpgsql AS $function$
DECLARE
  found_id uuid;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(a_fingerprint, 7882267396523914872));
  UPDATE mcp_approvals SET used_at = clock_timestamp() WHERE review_id = (
    SELECT a.review_id FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND r.status = 'approved'
      AND r.decided_at + a.usable_ms * interval '1 millisecond' > clock_timestamp()
    ORDER BY r.decided_at LIMIT 1)
  RETURNING review_id INTO found_id;
  IF found_id IS NOT NULL THEN
    RETURN QUERY SELECT r.review_id, 'approved', r.decided_by, r.note FROM mcp_reviews r WHERE r.review_id = found_id;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'rejected', r.decided_by, r.note
    FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND r.status = 'rejected'
      AND r.decided_at + a.usable_ms * interval '1 millisecond' > clock_timestamp()
    ORDER BY r.decided_at DESC LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'waiting', NULL::text, NULL::text
    FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND r.status IN ('pending', 'claimed')
      AND r.expires_at > clock_timestamp()
    LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO mcp_reviews (review_id, expires_at, fallback_reason, tool_name, trace_id, span_id, content)
    VALUES (a_id, clock_timestamp() + a_expires_ms * interval '1 millisecond', 'approval_required', a_tool, a_trace_id, a_span_id, a_content);
  INSERT INTO mcp_approvals (review_id, fingerprint, usable_ms) VALUES (a_id, a_fingerprint, a_usable_ms);
  RETURN QUERY SELECT a_id, 'waiting', NULL::text, NULL::text;
END
$function$;
COMMENT ON FUNCTION mcp_approvals_take IS 'Takes the approval of a call, or asks for one';

-- What was used stays used, whoever writes.
CREATE FUNCTION mcp_approvals_keep_used() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the approval % was used and cannot be changed', OLD.review_id USING ERRCODE = 'P0001';
END
$function$;

CREATE TRIGGER mcp_approvals_keep_used BEFORE UPDATE ON mcp_approvals
  FOR EACH ROW WHEN (OLD.used_at IS NOT NULL) EXECUTE FUNCTION mcp_approvals_keep_used();
