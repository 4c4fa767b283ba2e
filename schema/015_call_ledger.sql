-- What gated calls have taken from budgets, and the effects that are done at most once. Used by policies with `totals`,
-- `sequences` or `once`, in the embedded database too.
--
-- A call is reserved before it is made: its amounts are booked on accounts, and its effect is its own until the outcome is
-- known. A process that dies meanwhile leaves the reservation as it is. Nobody knows then whether the call was made: once
-- its time is over it counts as unknown, keeps what it took, and its effect is not done again until a tool or a person says
-- what became of it.
--
-- Rows change only through the functions below, which the role that makes calls may use (schema/roles.sql). Outcomes are
-- told with the token of the reservation, which only its caller has; what a person said is looked up among the reviews.

CREATE TABLE mcp_ledger_calls (
  call_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token uuid NOT NULL DEFAULT gen_random_uuid(),
  status text NOT NULL DEFAULT 'reserved',
  effect_key text,
  effect text,
  args_digest text,
  caller text,
  server text,
  tool text,
  takes json NOT NULL,
  quiet_ms double precision NOT NULL,
  reserved_at timestamptz NOT NULL,
  quiet_until timestamptz NOT NULL,
  settled_at timestamptz,
  settled_by text,
  CONSTRAINT mcp_ledger_calls_status CHECK (status IN ('reserved', 'done', 'failed', 'unknown')),
  CONSTRAINT mcp_ledger_calls_settled CHECK ((status = 'reserved') = (settled_at IS NULL))
);
-- Whatever else goes wrong: one effect is not reserved or done twice.
CREATE UNIQUE INDEX mcp_ledger_calls_once ON mcp_ledger_calls (effect_key) WHERE effect_key IS NOT NULL AND status <> 'failed';
CREATE INDEX mcp_ledger_calls_open ON mcp_ledger_calls (reserved_at) WHERE status IN ('reserved', 'unknown');
COMMENT ON TABLE mcp_ledger_calls IS 'Calls that a policy counts or lets happen once, from before they are made; written by mcp-observatory';
COMMENT ON COLUMN mcp_ledger_calls.status IS 'reserved, done, failed (it had no effect) or unknown; one reserved past quiet_until is unknown too';
COMMENT ON COLUMN mcp_ledger_calls.effect_key IS 'SHA-256 of the name of the effect and the arguments in it, hex; null for a call that is only counted';
COMMENT ON COLUMN mcp_ledger_calls.takes IS 'What it took from which accounts';
COMMENT ON COLUMN mcp_ledger_calls.quiet_until IS 'Until then the call may still take effect, so that what does not show yet may come';
COMMENT ON COLUMN mcp_ledger_calls.settled_by IS 'call, reconcile:TOOL, or the person who decided';

CREATE TABLE mcp_ledger_accounts (
  account text PRIMARY KEY,
  units numeric NOT NULL DEFAULT 0,
  touched_at timestamptz NOT NULL
);
COMMENT ON TABLE mcp_ledger_accounts IS 'Sums and counts of gated calls by run, day (UTC) or caller; written by mcp-observatory';
COMMENT ON COLUMN mcp_ledger_accounts.units IS 'Billionths, reserved and unknown calls included';

DO $migration$
BEGIN
  EXECUTE replace($functions$

-- Books takes on their accounts, always in the same order so that no two calls wait for each other.
CREATE FUNCTION @schema@.mcp_ledger_book(a_takes json, a_sign integer, a_on text, a_back text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT t->>'account' AS account, sum((t->>'units')::numeric) AS units FROM json_array_elements(a_takes) AS t
    WHERE t->>'on' = a_on AND (a_back IS NULL OR t->>'back' = ANY (a_back)) GROUP BY 1 ORDER BY 1
  LOOP
    INSERT INTO @schema@.mcp_ledger_accounts AS a (account, units, touched_at)
      VALUES (one.account, one.units * a_sign, clock_timestamp())
      ON CONFLICT (account) DO UPDATE SET units = a.units + excluded.units, touched_at = excluded.touched_at;
  END LOOP;
END
$function$;

-- Moves a call to an outcome, with what that gives back or adds.
CREATE FUNCTION @schema@.mcp_ledger_move(a_call @schema@.mcp_ledger_calls, a_outcome text, a_by text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF a_outcome = 'done' THEN
    PERFORM @schema@.mcp_ledger_book(a_call.takes, 1, 'done', NULL);
  ELSIF a_outcome = 'failed' THEN
    PERFORM @schema@.mcp_ledger_book(a_call.takes, -1, 'reserve', ARRAY['failed']);
  ELSIF a_outcome = 'not_made' THEN
    PERFORM @schema@.mcp_ledger_book(a_call.takes, -1, 'reserve', NULL);
  END IF;
  UPDATE @schema@.mcp_ledger_calls SET status = CASE a_outcome WHEN 'not_made' THEN 'failed' ELSE a_outcome END,
      settled_at = moment, settled_by = @schema@.mcp_reviews_name(a_by),
      quiet_until = CASE a_outcome WHEN 'unknown' THEN moment + a_call.quiet_ms * interval '1 millisecond' ELSE quiet_until END
    WHERE call_id = a_call.call_id;
END
$function$;

-- How an effect stands: done, running or unknown; null where it may be done.
CREATE FUNCTION @schema@.mcp_ledger_find(a_request json) RETURNS json
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT json_build_object(
    'state', CASE WHEN c.status <> 'reserved' THEN c.status WHEN c.quiet_until > clock_timestamp() THEN 'running' ELSE 'unknown' END,
    'id', c.call_id, 'digest', c.args_digest, 'by', c.settled_by,
    'at', to_char(coalesce(c.settled_at, c.reserved_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  FROM @schema@.mcp_ledger_calls c WHERE c.effect_key = a_request->>'key' AND c.status <> 'failed'
$function$;
COMMENT ON FUNCTION @schema@.mcp_ledger_find IS 'How an effect stands';

-- Reserves a call before it is made. Answers `taken` with id and token; the state of an effect that is done, running or
-- unknown; or `refused` with the number of the take that an account has no room for. Then nothing was taken.
CREATE FUNCTION @schema@.mcp_ledger_reserve(a_request json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  wanted text := a_request->>'key';
  quiet double precision := (a_request->>'quiet_ms')::double precision;
  booked json;
  earlier json;
  named text;
  refused integer;
  made @schema@.mcp_ledger_calls;
BEGIN
  PERFORM @schema@.mcp_reviews_check_bytes('a reservation', a_request::text, 65536);
  PERFORM @schema@.mcp_reviews_check_ms('the time of a reservation', quiet, 86400000);
  IF quiet IS NULL OR json_typeof(a_request->'takes') IS DISTINCT FROM 'array' OR json_array_length(a_request->'takes') > 256
      OR wanted !~ '^[0-9a-f]{64}$' OR EXISTS (SELECT FROM json_array_elements(a_request->'takes') AS t
        WHERE t->>'account' IS NULL OR t->>'units' IS NULL OR t->>'units' !~ '^[0-9]{1,40}$'
          OR coalesce(t->>'on', '') NOT IN ('reserve', 'done') OR coalesce(t->>'back', '') NOT IN ('failed', 'not_made')) THEN
    RAISE EXCEPTION 'this is no reservation' USING ERRCODE = '22023';
  END IF;
  IF wanted IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(wanted, 7882267396523914874));
    earlier := @schema@.mcp_ledger_find(a_request);
    IF earlier IS NOT NULL THEN
      RETURN earlier;
    END IF;
  END IF;
  SELECT coalesce(json_agg(json_build_object('account', @schema@.mcp_reviews_name(t->>'account'
      || CASE WHEN (t->>'daily')::boolean THEN to_char(moment AT TIME ZONE 'UTC', ' YYYY-MM-DD') ELSE '' END),
      'units', t->>'units', 'at_most', t->>'at_most', 'at_least', t->>'at_least', 'on', t->>'on', 'back', t->>'back') ORDER BY n), '[]')
    INTO booked FROM json_array_elements(a_request->'takes') WITH ORDINALITY AS each(t, n);
  FOR named IN SELECT DISTINCT one->>'account' FROM json_array_elements(booked) AS one ORDER BY 1 LOOP
    INSERT INTO @schema@.mcp_ledger_accounts (account, touched_at) VALUES (named, moment) ON CONFLICT DO NOTHING;
    PERFORM FROM @schema@.mcp_ledger_accounts WHERE account = named FOR UPDATE;
  END LOOP;
  SELECT each.n INTO refused FROM json_array_elements(booked) WITH ORDINALITY AS each(t, n)
    JOIN @schema@.mcp_ledger_accounts a ON a.account = t->>'account'
    WHERE a.units + (t->>'units')::numeric > (t->>'at_most')::numeric OR a.units < (t->>'at_least')::numeric
    ORDER BY each.n LIMIT 1;
  IF refused IS NOT NULL THEN
    RETURN json_build_object('state', 'refused', 'take', refused - 1);
  END IF;
  PERFORM @schema@.mcp_ledger_book(booked, 1, 'reserve', NULL);
  INSERT INTO @schema@.mcp_ledger_calls (effect_key, effect, args_digest, caller, server, tool, takes, quiet_ms, reserved_at, quiet_until)
    VALUES (wanted, @schema@.mcp_reviews_name(a_request->>'effect'), @schema@.mcp_reviews_name(a_request->>'digest'),
      @schema@.mcp_reviews_name(a_request->>'caller'), @schema@.mcp_reviews_name(a_request->>'server'),
      @schema@.mcp_reviews_name(a_request->>'tool'), booked, quiet, clock_timestamp(), clock_timestamp() + quiet * interval '1 millisecond')
    RETURNING * INTO made;
  RETURN json_build_object('state', 'taken', 'id', made.call_id, 'token', made.token);
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_ledger_reserve IS 'Reserves a call before it is made';

-- Tells the outcome of a reserved call: done, failed, unknown or not_made; `running` prolongs its time. Answers whether the
-- outcome stands. One that comes late, after a tool or a person said that nothing happened, stands unless it was done again.
CREATE FUNCTION @schema@.mcp_ledger_settle(a_request json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  wanted text := a_request->>'outcome';
  one @schema@.mcp_ledger_calls;
BEGIN
  IF wanted IS NULL OR wanted NOT IN ('running', 'done', 'failed', 'unknown', 'not_made') THEN
    RAISE EXCEPTION 'this is no outcome of a call' USING ERRCODE = '22023';
  END IF;
  SELECT * INTO one FROM @schema@.mcp_ledger_calls
    WHERE call_id = (a_request->>'id')::uuid AND token = (a_request->>'token')::uuid;
  IF one.call_id IS NULL THEN
    RETURN json_build_object('settled', false);
  END IF;
  IF one.effect_key IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(one.effect_key, 7882267396523914874));
  END IF;
  SELECT * INTO one FROM @schema@.mcp_ledger_calls WHERE call_id = one.call_id FOR UPDATE;
  IF wanted = 'running' THEN
    UPDATE @schema@.mcp_ledger_calls SET quiet_until = clock_timestamp() + quiet_ms * interval '1 millisecond'
      WHERE call_id = one.call_id AND status = 'reserved';
    RETURN json_build_object('settled', one.status = 'reserved');
  END IF;
  IF one.status IN ('reserved', 'unknown') THEN
    IF one.status <> wanted THEN
      PERFORM @schema@.mcp_ledger_move(one, wanted, 'call');
    END IF;
    RETURN json_build_object('settled', true);
  END IF;
  IF one.status = 'failed' AND one.settled_by <> 'call' AND wanted = 'done' AND NOT EXISTS (
      SELECT FROM @schema@.mcp_ledger_calls o WHERE o.effect_key = one.effect_key AND o.status <> 'failed') THEN
    PERFORM @schema@.mcp_ledger_book(one.takes, 1, 'reserve', ARRAY['failed']);
    PERFORM @schema@.mcp_ledger_move(one, wanted, 'call');
    RETURN json_build_object('settled', true);
  END IF;
  RETURN json_build_object('settled', one.status = CASE wanted WHEN 'not_made' THEN 'failed' ELSE wanted END);
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_ledger_settle IS 'Tells the outcome of a reserved call';

-- Says what became of an unknown effect: `done`, or `failed` for one that did not happen. By a person, whose decision about
-- exactly this call stands among the reviews; or by a tool, whose word that nothing happened counts only when the time in
-- which the call may still take effect is over. Answers how the effect stands then.
CREATE FUNCTION @schema@.mcp_ledger_resolve(a_request json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  wanted text := a_request->>'outcome';
  one @schema@.mcp_ledger_calls;
  who text;
BEGIN
  SELECT * INTO one FROM @schema@.mcp_ledger_calls WHERE call_id = (a_request->>'id')::uuid AND effect_key IS NOT NULL;
  IF one.call_id IS NULL OR wanted IS NULL OR wanted NOT IN ('done', 'failed') THEN
    RAISE EXCEPTION 'this says nothing of an effect' USING ERRCODE = '22023';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(one.effect_key, 7882267396523914874));
  SELECT * INTO one FROM @schema@.mcp_ledger_calls WHERE call_id = one.call_id FOR UPDATE;
  IF one.status = 'unknown' OR one.status = 'reserved' AND one.quiet_until <= clock_timestamp() THEN
    IF a_request->>'review' IS NOT NULL THEN
      SELECT r.decided_by INTO who FROM @schema@.mcp_reviews r JOIN @schema@.mcp_approvals a USING (review_id)
        WHERE r.review_id = (a_request->>'review')::uuid AND r.fallback_reason = 'approval_required'
          -- What comes before the arguments, in which a call may say anything.
          AND strpos(split_part(r.content::text, ',"args":', 1), format('"argsDigest":"unknown:%s"', one.call_id)) > 0
          AND (wanted = 'failed' AND r.status = 'approved' AND a.used_at IS NOT NULL OR wanted = 'done' AND r.status = 'rejected');
      IF who IS NULL THEN
        RAISE EXCEPTION 'nobody has decided so' USING ERRCODE = '22023';
      END IF;
      PERFORM @schema@.mcp_ledger_move(one, wanted, who);
    ELSIF wanted = 'done' OR one.quiet_until <= clock_timestamp() THEN
      PERFORM @schema@.mcp_ledger_move(one, wanted, 'reconcile:' || coalesce(a_request->>'tool', ''));
    END IF;
  END IF;
  RETURN @schema@.mcp_ledger_find(json_build_object('key', one.effect_key));
END
$function$;
COMMENT ON FUNCTION @schema@.mcp_ledger_resolve IS 'Says what became of an unknown effect';

  $functions$, '@schema@', quote_ident(current_schema()));
END
$migration$;

REVOKE ALL ON FUNCTION mcp_ledger_book, mcp_ledger_move, mcp_ledger_find, mcp_ledger_reserve, mcp_ledger_settle,
  mcp_ledger_resolve FROM PUBLIC;
