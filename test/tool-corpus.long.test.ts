import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { CallableTool, ServerTool } from '../src/mcp-client/index.ts';
import {
  type AdaptedTool,
  adaptTools,
  SAFE_TOOL_NAME,
  type ToolProvider,
} from '../src/orchestrator/tools/index.ts';
import { readDataset } from './support/data.ts';
import { anthropicViolations, geminiViolations, openaiViolations } from './support/provider-rules.ts';
import { seededRandom } from './support/random.ts';
import { randomValue } from './support/random-values.ts';

const RULES = { openai: openaiViolations, anthropic: anthropicViolations, gemini: geminiViolations };
const PROVIDERS = Object.keys(RULES) as ToolProvider[];
/** A handful of real tools may be beyond saving; more would mean the conversion gives up too soon. */
const MAX_UNSUPPORTED = 2;
const TRIES = 20;

const rows = readDataset('mcp_tools.jsonl');
const skip = rows === undefined && 'the data folder is not there';
const corpus: ServerTool[] = (rows ?? []).map((row) => ({
  server: String(row.server),
  tool: row.tool as CallableTool,
}));

for (const provider of PROVIDERS) {
  test(`${provider}: every real tool passes the rules or is unsupported with a reason`, { skip }, (t) => {
    const before = JSON.stringify(corpus);
    const { tools, unsupported } = adaptTools(corpus, provider);
    assert.equal(JSON.stringify(corpus), before, 'the input was changed');
    assert.equal(tools.length + unsupported.length, corpus.length);
    const broken = tools.flatMap((tool) => RULES[provider](tool).map((what) => `${tool.name}: ${what}`));
    assert.deepEqual(broken, []);
    assert.ok(tools.every((tool) => SAFE_TOOL_NAME.test(tool.name)));
    assert.equal(new Set(tools.map((tool) => tool.name)).size, tools.length);
    for (const { name, reason } of unsupported) t.diagnostic(`unsupported ${name}: ${reason}`);
    t.diagnostic(
      `${unsupported.length} of ${corpus.length} unsupported, ${tools.filter((x) => x.relaxed.length > 0).length} relaxed`,
    );
    assert.ok(unsupported.length <= MAX_UNSUPPORTED);
  });

  test(`${provider}: arguments that fit the offered schema map back to arguments that fit the tool's own`, {
    skip,
  }, (t) => {
    let checked = 0;
    let excused = 0;
    const untried: string[] = [];
    const random = seededRandom(20261120);
    for (const tool of adaptTools(corpus, provider).tools) {
      const offered = validator(tool.parameters);
      const own = validator(tool.tool.inputSchema);
      let count = 0;
      for (let i = 0; i < 20 * TRIES && count < TRIES; i++) {
        const args = randomValue(tool.parameters, tool.parameters, random) as Record<string, unknown>;
        if (!offered(args)) continue;
        count++;
        const copy = structuredClone(args);
        const mapped = tool.mapArguments(args);
        assert.deepEqual(args, copy, `${tool.name}: mapArguments changed its input`);
        if (own(mapped)) continue;
        const broken = unexcused(tool, own.errors ?? []);
        assert.deepEqual(broken, [], `${tool.name}: ${JSON.stringify(args)} -> ${JSON.stringify(mapped)}`);
        excused++;
      }
      checked += count;
      if (count === 0) untried.push(tool.name);
    }
    t.diagnostic(
      `${checked} arguments, ${excused} broke a constraint the provider cannot express, no value found for: ${untried.join(' ') || 'none'}`,
    );
    assert.ok(checked > corpus.length * TRIES * 0.9, `only ${checked} arguments were generated`);
    if (provider !== 'gemini') assert.equal(excused, 0);
  });
}

/** The errors no relaxed constraint explains. Alternatives fail as a whole when one of their parts was relaxed. */
function unexcused(tool: AdaptedTool, errors: readonly ErrorObject[]): readonly ErrorObject[] {
  if (tool.relaxed.length === 0) return errors;
  const keywords = new Set(tool.relaxed.map((each) => each.keyword));
  if (keywords.has('enum')) keywords.add('const');
  const alternatives = errors.filter((each) => each.keyword === 'anyOf' || each.keyword === 'oneOf');
  return errors.filter(
    (each) =>
      !keywords.has(each.keyword) &&
      !alternatives.includes(each) &&
      !alternatives.some((whole) => each.schemaPath.startsWith(`${whole.schemaPath}/`)),
  );
}

function validator(schema: Readonly<Record<string, unknown>>): ValidateFunction {
  const old = /draft-0[4-7]/.test(String(schema.$schema ?? ''));
  const { $schema: _dialect, ...rest } = withNumericBounds(schema) as Record<string, unknown>;
  const AjvClass = old ? Ajv : Ajv2020;
  return new AjvClass({
    strict: false,
    validateFormats: false,
    allErrors: true,
    logger: false,
    meta: false,
    validateSchema: false,
  }).compile(rest);
}

/** The validator knows no draft-04, in which `exclusiveMinimum: true` made `minimum` an open bound. */
function withNumericBounds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNumericBounds);
  if (typeof schema !== 'object' || schema === null) return schema;
  const out = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withNumericBounds(value)]),
  );
  if (out.exclusiveMinimum === true) out.exclusiveMinimum = out.minimum;
  if (out.exclusiveMaximum === true) out.exclusiveMaximum = out.maximum;
  return out;
}
