-- Approvals that hold longer than one call: for the session that asked, or until the definition of the tool changes. The
-- arguments stay bound in each: a call with other arguments asks again. And what became of them: used, ended, announced.

ALTER TABLE mcp_reviews ADD COLUMN scope text,
  ADD CONSTRAINT mcp_reviews_scope CHECK (scope IS NULL OR status = 'approved' AND scope IN ('once', 'session', 'definition'));
COMMENT ON COLUMN mcp_reviews.scope IS 'How far the approval of a call goes: once (also where it is null), session or definition';

ALTER TABLE mcp_approvals
  ADD COLUMN session_ms double precision,
  ADD COLUMN definition_ms double precision,
  ADD COLUMN subject text,
  ADD COLUMN definition_hash text,
  ADD COLUMN uses integer NOT NULL DEFAULT 0,
  ADD COLUMN last_used_at timestamptz,
  ADD COLUMN ended_at timestamptz,
  ADD COLUMN ended_by text,
  ADD COLUMN ended_note text,
  ADD COLUMN announced_at timestamptz,
  ADD COLUMN announce_after timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN announce_tries integer NOT NULL DEFAULT 0;
-- Requests from before this are nobody's news.
UPDATE mcp_approvals SET announced_at = now() WHERE used_at IS NULL;
CREATE INDEX mcp_approvals_subject ON mcp_approvals (subject) WHERE used_at IS NULL AND ended_at IS NULL;
CREATE INDEX mcp_approvals_unannounced ON mcp_approvals (announce_after) WHERE announced_at IS NULL;
COMMENT ON TABLE mcp_approvals IS 'Reviews that approve one exact tool call: at most once, for a session, or for a definition';
COMMENT ON COLUMN mcp_approvals.usable_ms IS 'How long after the decision it can be used once, and a rejection stands, in milliseconds';
COMMENT ON COLUMN mcp_approvals.session_ms IS 'How long one for the session (session_id of the review) can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.definition_ms IS 'How long one for the definition can be used; null if none may be given';
COMMENT ON COLUMN mcp_approvals.subject IS 'SHA-256 of caller, server and tool, hex';
COMMENT ON COLUMN mcp_approvals.definition_hash IS 'Definition it is for, hex; a call under another one ends it';
COMMENT ON COLUMN mcp_approvals.uses IS 'Calls that were made with it';
COMMENT ON COLUMN mcp_approvals.ended_at IS 'When it was revoked, or a call came under another definition; it approves nothing since';
COMMENT ON COLUMN mcp_approvals.ended_by IS 'Who revoked it; null where the definition changed';
COMMENT ON COLUMN mcp_approvals.announced_at IS 'When the webhook took the request';

-- Calls by the definition that a policy gate saw, for tools whose definition changed.
CREATE INDEX mcp_traces_tool_hash ON mcp_traces (start_time) WHERE tool_hash IS NOT NULL;

-- Another signature; processes of the version before this call it with the first eight parameters.
DROP FUNCTION mcp_approvals_take(text, double precision, uuid, double precision, text, uuid, uuid, json);

-- Takes the approval of a call, or asks for one. Answers `approved` for an approval that is in force, once where it is for
-- one call, `rejected` while a rejection stands, else `waiting` with the open request, which it makes if there is none.
-- One caller at a time per caller and tool.
CREATE FUNCTION mcp_approvals_take(
  a_fingerprint text, a_usable_ms double precision, a_id uuid, a_expires_ms double precision, a_tool text,
  a_trace_id uuid, a_span_id uuid, a_content json, a_subject text DEFAULT NULL, a_definition_hash text DEFAULT NULL,
  a_session text DEFAULT NULL, a_session_ms double precision DEFAULT NULL, a_definition_ms double precision DEFAULT NULL
) RETURNS TABLE (approval uuid, state text, person text, remark text, reach text)
LANGUAGE plpgsql AS $function$
DECLARE
  found_id uuid;
BEGIN
  -- By tool first: calls under two definitions of it would else lock each other's approvals.
  IF a_subject IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(a_subject, 7882267396523914873));
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(a_fingerprint, 7882267396523914872));
  -- The tool is another one now: what was approved for the old one does not come back with it.
  UPDATE mcp_approvals a SET ended_at = clock_timestamp(), ended_note = 'the definition changed'
    WHERE a.subject = a_subject AND a.definition_hash IS DISTINCT FROM a_definition_hash AND a.used_at IS NULL AND a.ended_at IS NULL
      AND EXISTS (SELECT FROM mcp_reviews r WHERE r.review_id = a.review_id AND r.scope IN ('session', 'definition'));
  UPDATE mcp_approvals SET uses = uses + 1, last_used_at = clock_timestamp() WHERE used_at IS NULL AND ended_at IS NULL AND review_id = (
    SELECT a.review_id FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND a.ended_at IS NULL AND r.status = 'approved'
      AND (r.scope = 'session' AND r.session_id = a_session
          AND r.decided_at + least(a.session_ms, a_session_ms) * interval '1 millisecond' > clock_timestamp()
        OR r.scope = 'definition'
          AND r.decided_at + least(a.definition_ms, a_definition_ms) * interval '1 millisecond' > clock_timestamp())
      AND (r.scope = 'session' AND a_session_ms IS NOT NULL OR r.scope = 'definition' AND a_definition_ms IS NOT NULL)
    ORDER BY r.decided_at LIMIT 1)
  RETURNING review_id INTO found_id;
  IF found_id IS NULL THEN
    UPDATE mcp_approvals SET used_at = clock_timestamp(), uses = 1, last_used_at = clock_timestamp()
    WHERE used_at IS NULL AND ended_at IS NULL AND review_id = (
      SELECT a.review_id FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
      WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND a.ended_at IS NULL AND r.status = 'approved'
        AND coalesce(r.scope, 'once') = 'once'
        AND r.decided_at + a.usable_ms * interval '1 millisecond' > clock_timestamp()
      ORDER BY r.decided_at LIMIT 1)
    RETURNING review_id INTO found_id;
  END IF;
  IF found_id IS NOT NULL THEN
    RETURN QUERY SELECT r.review_id, 'approved', r.decided_by, r.note, coalesce(r.scope, 'once')
      FROM mcp_reviews r WHERE r.review_id = found_id;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'rejected', r.decided_by, r.note, NULL::text
    FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND r.status = 'rejected'
      AND r.decided_at + a.usable_ms * interval '1 millisecond' > clock_timestamp()
    ORDER BY r.decided_at DESC LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'waiting', NULL::text, NULL::text, NULL::text
    FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
    WHERE a.fingerprint = a_fingerprint AND a.used_at IS NULL AND r.status IN ('pending', 'claimed')
      AND r.expires_at > clock_timestamp()
    LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO mcp_reviews (review_id, expires_at, fallback_reason, tool_name, trace_id, span_id, content, session_id)
    VALUES (a_id, clock_timestamp() + a_expires_ms * interval '1 millisecond', 'approval_required', a_tool, a_trace_id,
      a_span_id, a_content, a_session);
  INSERT INTO mcp_approvals (review_id, fingerprint, usable_ms, session_ms, definition_ms, subject, definition_hash)
    VALUES (a_id, a_fingerprint, a_usable_ms, CASE WHEN a_session IS NOT NULL THEN a_session_ms END, a_definition_ms,
      a_subject, a_definition_hash);
  RETURN QUERY SELECT a_id, 'waiting', NULL::text, NULL::text, NULL::text;
END
$function$;
COMMENT ON FUNCTION mcp_approvals_take IS 'Takes the approval of a call, or asks for one';

-- What was used for its one call, or ended, stays so, whoever writes; only its announcement may still be noted.
DROP TRIGGER mcp_approvals_keep_used ON mcp_approvals;
CREATE OR REPLACE FUNCTION mcp_approvals_keep_used() RETURNS trigger LANGUAGE plpgsql AS $function$
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
