-- Reviews and approvals change only through functions, each of which one role may call (schema/roles.sql). They run with the
-- rights of their owner, take the time from the server, and name every table with its schema, so that nothing a caller
-- makes stands in for one.
--
-- A request for an approval is given in its parts: caller, server, tool, definition, digest of the arguments, policy, and the
-- arguments. From these the server makes both the content that people look at and the fingerprint of what is approved.
DO $migration$
BEGIN
  EXECUTE replace($functions$

-- Refuses a number of milliseconds that is not above 0 and up to a bound; null passes.
CREATE FUNCTION @schema@.mcp_reviews_check_ms(a_name text, a_ms double precision, a_most double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF NOT (a_ms > 0 AND a_ms <= a_most) THEN
    RAISE EXCEPTION '% must be above 0 and at most % ms', a_name, a_most USING ERRCODE = '22023';
  END IF;
END
$function$;

-- A name as it is stored: one of more than 1,024 bytes is cut, and ends in its SHA-256, so that it is still another name.
CREATE FUNCTION @schema@.mcp_reviews_name(a_name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT CASE WHEN octet_length(a_name) <= 1024 THEN a_name
    ELSE left(a_name, 100) || '~' || encode(sha256(convert_to(a_name, 'UTF8')), 'hex') END
$function$;

-- Refuses a text or JSON of more bytes than this; null passes.
CREATE FUNCTION @schema@.mcp_reviews_check_bytes(a_what text, a_text text, a_most integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF octet_length(a_text) > a_most THEN
    RAISE EXCEPTION '% has at most % bytes', a_what, a_most USING ERRCODE = '22023';
  END IF;
END
$function$;

-- Takes the approval of a call, or asks for one. Answers `approved` for an approval that is in force, once where it is for
-- one call, `rejected` while a rejection stands, else `waiting` with the open request of the session, which it makes if
-- there is none. One caller at a time per caller and tool. The times are those of the caller's policy: the shorter of them
-- and those that were asked for hold.
CREATE FUNCTION @schema@.mcp_approvals_take(
  a_caller json, a_server json, a_tool json, a_definition json, a_digest json, a_policy json, a_args json, a_message json,
  a_rules json, a_session text, a_usable_ms double precision, a_session_ms double precision, a_definition_ms double precision,
  a_expires_ms double precision, a_trace_id uuid, a_span_id uuid
) RETURNS TABLE (approval uuid, state text, person text, remark text, reach text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  -- Texts of JSON, which may have escapes that no text can hold; quotes are all that a name without escapes has around it.
  shown text := format('{"approval":{"caller":%s,"server":%s,"tool":%s,"toolHash":%s,"argsDigest":%s,"policyHash":%s,"args":%s,',
    a_caller, a_server, a_tool, a_definition, a_digest, a_policy, a_args);
  wanted text := encode(sha256(convert_to(format('[%s,%s,%s,%s,%s,%s,%s]',
    a_caller, a_server, a_tool, a_definition, a_digest, a_policy, a_args), 'UTF8')), 'hex');
  whose text := encode(sha256(convert_to(format('[%s,%s,%s]', a_caller, a_server, a_tool), 'UTF8')), 'hex');
  hash text := @schema@.mcp_reviews_name(trim(a_definition::text, '"'));
  asking text := @schema@.mcp_reviews_name(a_session);
  content_of json;
  moment timestamptz;
  found_id uuid;
BEGIN
  IF (json_typeof(a_caller), json_typeof(a_server), json_typeof(a_tool), json_typeof(a_definition), json_typeof(a_digest),
      json_typeof(a_policy), json_typeof(a_args), json_typeof(a_message), json_typeof(a_rules))
      IS DISTINCT FROM ('string', 'string', 'string', 'string', 'string', 'string', 'object', 'string', 'array')
      OR a_usable_ms IS NULL OR a_expires_ms IS NULL THEN
    RAISE EXCEPTION 'this is no request for an approval' USING ERRCODE = '22023';
  END IF;
  content_of := format('%s"message":%s,"ruleIds":%s}}', shown, a_message, a_rules);
  PERFORM @schema@.mcp_reviews_check_bytes('a request for an approval', content_of::text, 1048576);
  -- The bounds of schema/policy.schema.json.
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval', a_usable_ms, 86400000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval for a session', a_session_ms, 604800000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of an approval for a definition', a_definition_ms, 31536000000);
  PERFORM @schema@.mcp_reviews_check_ms('the time of a request', a_expires_ms, 315360000000);
  -- By tool first: calls under two definitions of it would else lock each other's approvals.
  PERFORM pg_advisory_xact_lock(hashtextextended(whose, 7882267396523914873));
  PERFORM pg_advisory_xact_lock(hashtextextended(wanted, 7882267396523914872));
  moment := clock_timestamp();
  -- The tool is another one now: what was approved for the old one does not come back with it.
  UPDATE @schema@.mcp_approvals a SET ended_at = moment, ended_note = 'the definition changed'
    WHERE a.subject = whose AND a.definition_hash IS DISTINCT FROM hash AND a.used_at IS NULL AND a.ended_at IS NULL
      AND EXISTS (SELECT FROM @schema@.mcp_reviews r
        WHERE r.review_id = a.review_id AND r.scope IN ('session', 'definition'));
  UPDATE @schema@.mcp_approvals u SET uses = u.uses + 1, last_used_at = moment,
    used_at = CASE WHEN one.scope = 'once' THEN moment END
  FROM (
    SELECT a.review_id AS id, coalesce(r.scope, 'once') AS scope
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND a.ended_at IS NULL AND r.status = 'approved'
      AND r.fallback_reason = 'approval_required' AND starts_with(r.content::text, shown)
      AND CASE coalesce(r.scope, 'once') WHEN 'session' THEN r.session_id = asking WHEN 'definition' THEN true
        -- For one call: of the session that asked, or of one that has no request of its own, as after a restart.
        ELSE r.session_id IS NOT DISTINCT FROM asking OR NOT EXISTS (
          SELECT FROM @schema@.mcp_approvals p JOIN @schema@.mcp_reviews o USING (review_id)
          WHERE p.fingerprint = wanted AND p.used_at IS NULL AND o.session_id IS NOT DISTINCT FROM asking
            AND o.status IN ('pending', 'claimed') AND o.expires_at > moment) END
      AND r.decided_at + interval '1 millisecond' * CASE coalesce(r.scope, 'once')
        WHEN 'session' THEN CASE WHEN a_session_ms IS NOT NULL THEN least(a.session_ms, a_session_ms) END
        WHEN 'definition' THEN CASE WHEN a_definition_ms IS NOT NULL THEN least(a.definition_ms, a_definition_ms) END
        ELSE least(a.usable_ms, a_usable_ms) END > moment
    ORDER BY coalesce(r.scope, 'once') = 'once', r.session_id IS DISTINCT FROM asking, r.decided_at LIMIT 1) AS one
  -- Again, of the row as it is once it is locked: it may have been revoked meanwhile.
  WHERE u.review_id = one.id AND u.used_at IS NULL AND u.ended_at IS NULL
  RETURNING u.review_id INTO found_id;
  IF found_id IS NOT NULL THEN
    RETURN QUERY SELECT r.review_id, 'approved', r.decided_by, r.note, coalesce(r.scope, 'once')
      FROM @schema@.mcp_reviews r WHERE r.review_id = found_id;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'rejected', r.decided_by, r.note, NULL::text
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND r.status = 'rejected'
      AND r.decided_at + a_usable_ms * interval '1 millisecond' > moment
    ORDER BY r.decided_at DESC LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT r.review_id, 'waiting', NULL::text, NULL::text, NULL::text
    FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
    WHERE a.fingerprint = wanted AND a.used_at IS NULL AND r.status IN ('pending', 'claimed') AND r.expires_at > moment
      AND r.session_id IS NOT DISTINCT FROM asking
    LIMIT 1;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO @schema@.mcp_reviews (review_id, expires_at, fallback_reason, tool_name, trace_id, span_id, content, session_id)
    VALUES (gen_random_uuid(), now() + a_expires_ms * interval '1 millisecond', 'approval_required',
      @schema@.mcp_reviews_name(trim(a_tool::text, '"')), a_trace_id, a_span_id, content_of, asking)
    RETURNING review_id INTO found_id;
  INSERT INTO @schema@.mcp_approvals (review_id, fingerprint, usable_ms, session_ms, definition_ms, subject, definition_hash)
    VALUES (found_id, wanted, a_usable_ms, CASE WHEN a_session IS NOT NULL THEN a_session_ms END, a_definition_ms, whose, hash);
  RETURN QUERY SELECT found_id, 'waiting', NULL::text, NULL::text, NULL::text;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_take IS 'Takes the approval of a call, or asks for one';

-- Puts an answer or a call aside for a person. Requests for approvals, and decisions about tools, come another way.
CREATE FUNCTION @schema@.mcp_reviews_submit(
  a_id uuid, a_reason text, a_tool text, a_service text, a_model text, a_risk_tier text, a_template text, a_session text,
  a_confidence double precision, a_risk double precision, a_trace_id uuid, a_span_id uuid, a_content json,
  a_expires_ms double precision
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF a_reason IN ('approval_required', 'tool_definition') THEN
    RAISE EXCEPTION 'a review cannot be submitted with this reason' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('the content of a review', a_content::text, 1048576);
  PERFORM @schema@.mcp_reviews_check_ms('the time of a review', a_expires_ms, 315360000000);
  INSERT INTO @schema@.mcp_reviews (review_id, fallback_reason, tool_name, service, model, risk_tier, prompt_template_id,
      session_id, confidence, hallucination_risk_score, trace_id, span_id, content, expires_at)
    VALUES (a_id, @schema@.mcp_reviews_name(a_reason), @schema@.mcp_reviews_name(a_tool), @schema@.mcp_reviews_name(a_service),
      @schema@.mcp_reviews_name(a_model), @schema@.mcp_reviews_name(a_risk_tier), @schema@.mcp_reviews_name(a_template),
      @schema@.mcp_reviews_name(a_session), a_confidence, a_risk, a_trace_id, a_span_id, a_content,
      now() + a_expires_ms * interval '1 millisecond');
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_submit IS 'Puts an answer or a call aside for a person';

-- What became of reviews, for those who know their ids.
CREATE FUNCTION @schema@.mcp_reviews_outcomes(a_ids uuid[])
RETURNS TABLE (review_id uuid, status text, decided_by text, decided_at timestamptz, note text, response json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT r.review_id,
    CASE WHEN r.status IN ('pending', 'claimed') AND r.expires_at <= clock_timestamp() THEN 'expired' ELSE r.status END,
    r.decided_by, r.decided_at, r.note, r.response
  FROM @schema@.mcp_reviews r WHERE r.review_id = ANY (a_ids)
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_outcomes IS 'What became of reviews';

-- Claims a review, or the oldest free one; those that others are claiming are skipped.
CREATE FUNCTION @schema@.mcp_reviews_claim(a_worker text, a_lease_ms double precision, a_tool text, a_id uuid)
RETURNS SETOF @schema@.mcp_reviews
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  PERFORM @schema@.mcp_reviews_check_ms('the time of a claim', a_lease_ms, 315360000000);
  RETURN QUERY UPDATE @schema@.mcp_reviews r SET status = 'claimed', claimed_by = @schema@.mcp_reviews_name(a_worker), claimed_at = moment,
      lease_expires_at = moment + a_lease_ms * interval '1 millisecond', claim_token = r.claim_token + 1
    WHERE r.review_id = (
      SELECT o.review_id FROM @schema@.mcp_reviews o
      WHERE o.status IN ('pending', 'claimed') AND (o.status = 'pending' OR o.lease_expires_at <= moment)
        AND o.expires_at > moment AND (a_tool IS NULL OR o.tool_name = @schema@.mcp_reviews_name(a_tool)) AND (a_id IS NULL OR o.review_id = a_id)
      ORDER BY o.created_at, o.review_id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING r.*;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_claim IS 'Claims a review, or the oldest free one';

-- Decides a claimed review. The token is the fence: it stays valid after the lease has lapsed, until someone else claims the
-- review. A request for an approval is approved only as far as it offers.
CREATE FUNCTION @schema@.mcp_reviews_decide(
  a_id uuid, a_token integer, a_worker text, a_status text, a_note text, a_response json, a_scope text
) RETURNS SETOF @schema@.mcp_reviews
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF a_status IS NULL OR a_status NOT IN ('approved', 'rejected') THEN
    RAISE EXCEPTION 'a review is approved or rejected' USING ERRCODE = '22023';
  END IF;
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  PERFORM @schema@.mcp_reviews_check_bytes('the answer of a review', a_response::text, 1048576);
  RETURN QUERY UPDATE @schema@.mcp_reviews r SET status = a_status, decided_by = r.claimed_by, decided_at = moment, note = a_note,
      response = a_response, scope = a_scope
    WHERE r.review_id = a_id AND r.status = 'claimed' AND r.claim_token = a_token AND r.claimed_by = @schema@.mcp_reviews_name(a_worker)
      AND r.expires_at > moment
      AND (a_status = 'rejected' OR r.fallback_reason <> 'approval_required' AND a_scope IS NULL OR EXISTS (
        SELECT FROM @schema@.mcp_approvals a
        WHERE a.review_id = r.review_id AND (a_scope IS NULL OR a_scope = 'session' AND a.session_ms IS NOT NULL
          OR a_scope = 'definition' AND a.definition_ms IS NOT NULL)))
    RETURNING r.*;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_decide IS 'Approves or rejects a claimed review';

-- Stores a decision about the definition of a tool, which waits elsewhere. Of several, the first one stands.
CREATE FUNCTION @schema@.mcp_reviews_record(
  a_id uuid, a_status text, a_tool text, a_trace_id uuid, a_content json, a_worker text, a_note text
) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  person text := @schema@.mcp_reviews_name(a_worker);
BEGIN
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  PERFORM @schema@.mcp_reviews_check_bytes('the content of a review', a_content::text, 1048576);
  RETURN QUERY INSERT INTO @schema@.mcp_reviews AS r (review_id, status, expires_at, fallback_reason, tool_name, trace_id,
      content, claim_token, claimed_by, claimed_at, lease_expires_at, decided_by, decided_at, note)
    VALUES (a_id, a_status, moment, 'tool_definition', @schema@.mcp_reviews_name(a_tool), a_trace_id, a_content, 1, person,
      moment, moment, person, moment, a_note)
    ON CONFLICT (review_id) DO NOTHING RETURNING r.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_record IS 'Stores a decision about the definition of a tool';

-- Marks overdue reviews, and returns how many.
CREATE FUNCTION @schema@.mcp_reviews_expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  gone integer;
BEGIN
  UPDATE @schema@.mcp_reviews SET status = 'expired', decided_at = clock_timestamp()
    WHERE status IN ('pending', 'claimed') AND expires_at <= clock_timestamp();
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_reviews_expire IS 'Marks overdue reviews as expired';

-- Ends an approval that can still be used.
CREATE FUNCTION @schema@.mcp_approvals_revoke(a_id uuid, a_worker text, a_note text) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM @schema@.mcp_reviews_check_bytes('the note of a decision', a_note, 65536);
  RETURN QUERY UPDATE @schema@.mcp_approvals a
    SET ended_at = clock_timestamp(), ended_by = @schema@.mcp_reviews_name(a_worker), ended_note = a_note
    FROM @schema@.mcp_reviews r
    WHERE a.review_id = a_id AND r.review_id = a.review_id AND r.status = 'approved' AND a.used_at IS NULL
      AND a.ended_at IS NULL AND r.decided_at + interval '1 millisecond' * CASE r.scope
        WHEN 'session' THEN a.session_ms WHEN 'definition' THEN a.definition_ms ELSE a.usable_ms END > clock_timestamp()
    RETURNING a.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_revoke IS 'Ends an approval that can still be used';

-- Takes requests that no webhook was told of, for as long as a try may take and longer after each failure: of several
-- processes one sends, and one that dies while it sends leaves it to the next. For about half a day.
CREATE FUNCTION @schema@.mcp_approvals_announce(a_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN QUERY UPDATE @schema@.mcp_approvals u SET announce_tries = u.announce_tries + 1,
      announce_after = clock_timestamp() + least(3600, 15 * 2 ^ u.announce_tries) * interval '1 second'
    WHERE u.review_id IN (
      SELECT a.review_id FROM @schema@.mcp_approvals a JOIN @schema@.mcp_reviews r USING (review_id)
      WHERE a.announced_at IS NULL AND a.announce_after <= clock_timestamp() AND a.announce_tries < 20
        AND r.status IN ('pending', 'claimed') AND r.expires_at > clock_timestamp()
      ORDER BY a.announce_after LIMIT a_limit FOR UPDATE OF a SKIP LOCKED)
    RETURNING u.review_id;
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_announce IS 'Takes requests that no webhook was told of';

CREATE FUNCTION @schema@.mcp_approvals_announced(a_id uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  UPDATE @schema@.mcp_approvals SET announced_at = clock_timestamp() WHERE review_id = a_id
$function$;
COMMENT ON FUNCTION @schema@.mcp_approvals_announced IS 'Notes that the webhook took a request';

  $functions$, '@schema@', quote_ident(current_schema()));
END
$migration$;

REVOKE ALL ON FUNCTION mcp_reviews_check_ms, mcp_reviews_check_bytes, mcp_reviews_name, mcp_approvals_take,
  mcp_reviews_submit, mcp_reviews_outcomes, mcp_reviews_claim, mcp_reviews_decide, mcp_reviews_record, mcp_reviews_expire,
  mcp_approvals_revoke, mcp_approvals_announce, mcp_approvals_announced FROM PUBLIC;
