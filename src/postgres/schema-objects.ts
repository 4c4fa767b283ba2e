import { COLUMNS } from '../base/index.ts';
import { MIGRATIONS, migrationScript, readMigration } from './migrations.ts';
import { execScript, type Queryable } from './types.ts';

/** A line that makes, drops or renames something; each such statement of a migration begins a line. */
const STATEMENT =
  /^(CREATE|DROP|ALTER) (?:OR REPLACE )?(?:UNIQUE )?(TABLE|VIEW|FUNCTION|AGGREGATE|INDEX|TRIGGER) (?:IF (?:NOT )?EXISTS )?(?:@schema@\.)?(\w+)(.* RENAME TO )?/;

/** SQL: whether an object exists, by its `kind` and `name`. */
const EXISTS = `CASE
  WHEN kind = 'trigger' THEN EXISTS (SELECT FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE tgname = name AND pg_table_is_visible(tgrelid))
  WHEN kind IN ('function', 'aggregate') THEN EXISTS (SELECT FROM pg_proc WHERE proname = name AND pg_function_is_visible(oid))
  WHEN kind = 'column' THEN to_regclass('mcp_traces') IS NULL OR EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('mcp_traces') AND attname = name AND NOT attisdropped)
  ELSE to_regclass(name) IS NOT NULL END`;

/** A schema in which all objects are created again, to copy the missing ones from it. */
const SCRATCH = 'mcp_observatory_scratch';

let known: ReadonlyMap<string, string> | undefined;

/** What the migrations leave in an empty database, by name. */
export function schemaObjects(): ReadonlyMap<string, string> {
  known ??= readObjects();
  return known;
}

function readObjects(): ReadonlyMap<string, string> {
  const kinds = new Map<string, string>();
  for (const migration of MIGRATIONS) {
    for (const line of readMigration(migration).split('\n')) {
      const [, verb, kind = '', name = '', isRenamed] = STATEMENT.exec(line) ?? [];
      if (verb === 'CREATE') kinds.set(name, kind.toLowerCase());
      else if (verb === 'DROP' || isRenamed !== undefined) kinds.delete(name);
    }
  }
  return kinds;
}

/**
 * The objects of the current schema that are missing, for instance `table mcp_traces`. Indexes and partitions are not
 * checked for a table that is not partitioned as the migrations made it, such as a hypertable.
 * @throws the driver's error.
 */
export async function missingObjects(db: Queryable): Promise<readonly string[]> {
  const objects = [...schemaObjects(), ...COLUMNS.map((column) => [column, 'column'] as const)];
  const { rows } = await db.query(
    `SELECT kind, name FROM unnest($1::text::text[], $2::text::text[]) AS object(kind, name)
     WHERE NOT (${EXISTS}) AND NOT (name LIKE 'mcp\\_traces\\_%' AND kind IN ('index', 'table') AND EXISTS (
       SELECT FROM pg_class WHERE oid = to_regclass('mcp_traces') AND relkind <> 'p'))
     ORDER BY array_position(ARRAY['table', 'view', 'column', 'function', 'aggregate', 'trigger'], kind), name`,
    [`{${objects.map(([, kind]) => kind).join(',')}}`, `{${objects.map(([name]) => name).join(',')}}`],
  );
  return rows.map(({ kind, name }) => `${kind} ${name}`);
}

/**
 * Makes missing tables, views, indexes, functions and triggers again, without what was in them and granted on them, in
 * one transaction. Nothing that is there is changed.
 * @throws the driver's error.
 */
export async function makeMissing(db: Queryable): Promise<void> {
  await execScript(
    db,
    [
      `SELECT set_config('${SCRATCH}.target', current_schema(), true);`,
      `CREATE SCHEMA ${SCRATCH};`,
      `SET LOCAL search_path = ${SCRATCH};`,
      migrationScript(MIGRATIONS),
      MOVE,
      `DROP SCHEMA ${SCRATCH} CASCADE;`,
    ].join('\n'),
  );
}

/** Moves tables that are missing; all else is made again from its definition, which names the schema it is in. */
const MOVE = `DO $move$
DECLARE
  scratch constant oid := '${SCRATCH}'::regnamespace;
  target constant text := quote_ident(current_setting('${SCRATCH}.target'));
  item record;
BEGIN
  -- Without a path, definitions name the schema of everything in them. The bodies of functions do not.
  SET LOCAL search_path = '';
  SET LOCAL check_function_bodies = off;
  FOR item IN SELECT c.oid, c.relname, c.relispartition, pg_get_expr(c.relpartbound, c.oid) AS bound, parent.relname AS parent,
      (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'p') AS key,
      parent.relnamespace = scratch AND to_regclass(target || '.' || parent.relname) IS NOT NULL AS is_apart
    FROM pg_class c LEFT JOIN pg_inherits ON inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = inhparent
    WHERE c.relnamespace = scratch AND c.relkind IN ('r', 'p') AND to_regclass(target || '.' || c.relname) IS NULL
    ORDER BY c.oid
  LOOP
    IF NOT item.relispartition OR NOT item.is_apart THEN
      EXECUTE format('ALTER TABLE %I.%I SET SCHEMA %s', '${SCRATCH}', item.relname, target);
    ELSIF item.bound = 'DEFAULT' THEN
      EXECUTE format('CREATE TABLE %1$s.%2$I PARTITION OF %1$s.%3$I DEFAULT', target, item.relname, item.parent);
      EXECUTE format('ALTER TABLE %s.%I ADD %s', target, item.relname, item.key);
    END IF;
  END LOOP;
  FOR item IN SELECT pg_get_functiondef(oid) AS definition, proacl,
      format('%I(%s)', proname, pg_get_function_identity_arguments(oid)) AS signature FROM pg_proc p WHERE pronamespace = scratch AND prokind = 'f'
    AND NOT EXISTS (SELECT FROM pg_proc WHERE proname = p.proname AND pronamespace = target::regnamespace) ORDER BY oid
  LOOP
    EXECUTE replace(item.definition, '${SCRATCH}', target);
    -- One that not everybody may call has rights of its own, from which nobody gains.
    IF item.proacl IS NOT NULL THEN
      EXECUTE format('REVOKE ALL ON FUNCTION %s.%s FROM PUBLIC', target, item.signature);
    END IF;
  END LOOP;
  FOR item IN SELECT pg_get_indexdef(oid) AS definition FROM pg_class c WHERE relnamespace = scratch AND relkind IN ('i', 'I')
    AND NOT relispartition AND to_regclass(target || '.' || relname) IS NULL ORDER BY oid
  LOOP
    EXECUTE replace(replace(item.definition, ' ON ONLY ', ' ON '), '${SCRATCH}', target);
  END LOOP;
  -- A table that was moved has its triggers, but not with the functions of its new schema.
  FOR item IN SELECT tgname, relname, pg_get_triggerdef(t.oid) AS definition
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid JOIN pg_proc p ON p.oid = tgfoid
    WHERE pronamespace = scratch AND (relnamespace <> scratch OR NOT EXISTS (SELECT FROM pg_trigger
      WHERE tgname = t.tgname AND tgrelid = to_regclass(target || '.' || c.relname)))
  LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s.%I', item.tgname, target, item.relname);
    EXECUTE replace(item.definition, '${SCRATCH}', target);
  END LOOP;
  FOR item IN SELECT relname, pg_get_viewdef(oid) AS definition FROM pg_class
    WHERE relnamespace = scratch AND relkind = 'v' AND to_regclass(target || '.' || relname) IS NULL ORDER BY oid
  LOOP
    EXECUTE format('CREATE VIEW %s.%I AS %s', target, item.relname, replace(item.definition, '${SCRATCH}', target));
  END LOOP;
END
$move$;`;
