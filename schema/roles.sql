-- Roles that may do no more than they must. Run as the owner of the tables, after the migrations:
--   psql "$DATABASE_URL" -f schema/roles.sql
-- Then: CREATE ROLE app LOGIN PASSWORD '...' IN ROLE mcp_observatory_writer;
--
-- The writer may add spans and nothing else: it cannot read, change or delete them. It writes by COPY to the table, and
-- for spans sent again through a temporary table; without the right to make one, it writes by INSERT.
-- The reader may look, see how the schema stands, and run `db check`. What changes rows is for the owner: migrations,
-- `db prune`, `db reprice`, and `db rollup` with the settling before it, which the page does too where it runs as the owner.
--
-- Reviews and approvals change only through functions, of which each role may call its own. The writer adds pending reviews,
-- asks for approvals and uses them, and sees what became of reviews whose ids it knows; it cannot decide, and what an
-- approval is for is computed from what people look at. The reader sees how the queue stands; neither reads what is
-- reviewed. The reviewer reads it all, claims, decides, revokes, adds decisions about tool definitions, and
-- writes notes on runs and keeps views.

DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['mcp_observatory_writer', 'mcp_observatory_reader', 'mcp_observatory_reviewer'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        -- All databases of a server share its roles: another one has just made it.
        NULL;
      END;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    EXECUTE format('GRANT SELECT ON mcp_observatory_migrations TO %I', role);
  END LOOP;
END
$$;

GRANT INSERT ON mcp_traces TO mcp_observatory_writer;
-- It makes partitions with the rights of its owner and takes no names from its caller.
GRANT EXECUTE ON FUNCTION mcp_traces_create_partitions(integer) TO mcp_observatory_writer;
GRANT SELECT ON mcp_traces, mcp_traces_hex, mcp_prompt_drift, mcp_prompt_template_changes
  TO mcp_observatory_reader;
GRANT SELECT ON mcp_traces_hourly, mcp_traces_daily, mcp_traces_rollup_state, mcp_traces_settle_state, mcp_tools_hourly, mcp_models_hourly,
  mcp_definitions_hourly, mcp_sessions, mcp_runs, mcp_runs_hourly, mcp_runs_state, mcp_tax_hourly, mcp_tax_state, mcp_tool_sets, mcp_tool_tax, mcp_views TO mcp_observatory_reader;

GRANT EXECUTE ON FUNCTION mcp_reviews_submit, mcp_reviews_outcomes, mcp_approvals_take TO mcp_observatory_writer;
GRANT SELECT (
  review_id, status, created_at, expires_at, fallback_reason, tool_name, service, model, risk_tier, prompt_template_id,
  session_id, confidence, hallucination_risk_score, trace_id, span_id, claim_token, claimed_by, claimed_at,
  lease_expires_at, decided_by, decided_at, note, scope
) ON mcp_reviews TO mcp_observatory_reader;
GRANT SELECT ON mcp_approvals TO mcp_observatory_reader;
GRANT SELECT ON mcp_reviews, mcp_approvals, mcp_views TO mcp_observatory_reviewer;
GRANT EXECUTE ON FUNCTION mcp_reviews_outcomes, mcp_reviews_claim, mcp_reviews_decide, mcp_reviews_record, mcp_reviews_expire,
  mcp_approvals_revoke, mcp_approvals_announce, mcp_approvals_announced, mcp_runs_annotate, mcp_views_save, mcp_views_remove,
  mcp_views_take, mcp_views_told TO mcp_observatory_reviewer;

-- The writer reserves calls and tells their outcomes, each with the token of its reservation, which nobody else reads.
GRANT EXECUTE ON FUNCTION mcp_ledger_find, mcp_ledger_reserve, mcp_ledger_settle, mcp_ledger_resolve TO mcp_observatory_writer;
GRANT SELECT (
  call_id, status, effect_key, effect, args_digest, caller, server, tool, takes, quiet_ms, reserved_at, quiet_until, settled_at,
  settled_by
) ON mcp_ledger_calls TO mcp_observatory_reader, mcp_observatory_reviewer;
GRANT SELECT ON mcp_ledger_accounts TO mcp_observatory_reader, mcp_observatory_reviewer;
