/** What is wrong with a policy, or wider than it looks: everything at once, where loading it stops at the first error. */
import { canonicalJson, isObject, type JsonObject, readObject, StepBudget } from '../json/index.ts';
import { type CatalogTool, ToolCatalog } from './catalog.ts';
import { listFindings } from './findings.ts';
import { lintArgument } from './lint-arguments.ts';
import type { LintCode, LintFinding } from './lint-finding.ts';
import { lintServers } from './lint-servers.ts';
import { Policy } from './policy.ts';
import { type LoadedPolicy, type RuleDocument, readPolicy } from './policy-file.ts';
import { applies, type CompiledRule, compileRule, isPattern, namesTool, rateStrength } from './rule.ts';
import { claims } from './rule-index.ts';
import type { ToolsByServer } from './tool-definition.ts';

/**
 * Looks for mistakes in a policy.
 * @param policy the text or the parsed form of a policy or allowlist.
 * @param tools what the servers list; without it names, arguments and annotations are not checked.
 */
export function lintPolicy(
  policy: string | Uint8Array | object,
  tools?: ToolsByServer,
): readonly LintFinding[] {
  let loaded: LoadedPolicy;
  try {
    loaded = readPolicy(policy);
  } catch (error) {
    return [{ severity: 'error', code: 'unusable', ruleIds: [], message: (error as Error).message }];
  }
  return new Lint(loaded, tools).run();
}

/** Of one tool, in a message. */
const MAX_IGNORED = 3;

class Lint {
  readonly #loaded: LoadedPolicy;
  readonly #catalog: ToolCatalog | undefined;
  readonly #findings: LintFinding[] = [];
  readonly #rules: readonly CompiledRule[];

  constructor(loaded: LoadedPolicy, tools: ToolsByServer | undefined) {
    this.#loaded = loaded;
    this.#rules = loaded.document.rules.flatMap((rule) => this.#compiled(rule) ?? []);
    if (tools === undefined) return;
    this.#catalog = new ToolCatalog({
      strictFormats: () => loaded.document.strict_formats === true,
      competes: (server, tool) =>
        loaded.document.duplicate_names !== 'allow' &&
        this.#rules.some((rule) => rule.document.server === server && namesTool(rule, tool)),
    });
    for (const [server, listing] of Object.entries(tools)) this.#catalog.setServer(server, listing.tools);
  }

  run(): readonly LintFinding[] {
    const { document } = this.#loaded;
    if (document.mode === 'shadow')
      this.#warn('shadow', [], 'The policy enforces nothing: its mode is shadow');
    for (const { server, tool, rules } of groups(this.#rules)) this.#checkGroup(server, tool, rules);
    for (const rule of this.#rules) this.#checkRule(rule);
    const listed = this.#catalog && new Set(this.#catalog.servers());
    this.#findings.push(...lintServers(this.#loaded, listed));
    // Equal ids, outputs and the rules' own tests.
    const isLoadable = !this.#findings.some(({ code }) => code === 'unusable' || code === 'unreachable');
    const policy = isLoadable ? this.#tryOut() : undefined;
    if (policy !== undefined && this.#catalog !== undefined) this.#checkDead(policy, this.#catalog);
    return this.#findings;
  }

  #compiled(rule: RuleDocument): CompiledRule | undefined {
    try {
      return compileRule(rule);
    } catch (error) {
      this.#error('unusable', [rule.id], (error as Error).message);
      return undefined;
    }
  }

  #checkDead(policy: Policy, catalog: ToolCatalog): void {
    for (const tool of catalog.tools()) policy.deadRules(tool);
    for (const { kind, ruleId = '', message } of listFindings(policy, catalog, true))
      if (kind === 'dead_rule') this.#error('dead', [ruleId], message);
  }

  #tryOut(): Policy | undefined {
    try {
      return new Policy(this.#loaded);
    } catch (error) {
      this.#error('unusable', [], (error as Error).message);
      return undefined;
    }
  }

  /** The rules about one tool, against each other. */
  #checkGroup(server: string, name: string, group: readonly CompiledRule[]): void {
    const place = `${server}/${name}`;
    const open = group.filter((rule) => rule.isOpen);
    const seen = new Map<string, string>();
    for (const rule of group) {
      const { id, effect } = rule.document;
      // Of a rule with a `*` this is one tool of many.
      if (!rule.tools.includes(name)) {
        seen.set(toConditions(rule.document), id);
        continue;
      }
      const stronger = open.find((other) => rateStrength(other) > rateStrength(rule));
      if (stronger !== undefined) {
        const by = stronger.document.id;
        this.#error(
          'unreachable',
          [id, by],
          `Rule '${id}' never decides about ${place}: rule '${by}' comes first`,
        );
      }
      const wider = open.find(
        ({ document, sources }) => document.effect === effect && sources.length === 0 && document.id !== id,
      );
      const twin = seen.get(toConditions(rule.document));
      seen.set(toConditions(rule.document), id);
      const cover = rule.isOpen && rule.sources.length === 0 ? twin : (wider?.document.id ?? twin);
      if (cover !== undefined)
        this.#warn('no_effect', [id, cover], `Rule '${id}' adds nothing to rule '${cover}' about ${place}`);
      if (effect === 'allow' && stronger === undefined) this.#checkDenied(place, rule, group);
    }
  }

  /** Finds allow rules for certain values, all of which other rules deny. */
  #checkDenied(place: string, rule: CompiledRule, group: readonly CompiledRule[]): void {
    const samples = listSamples(rule.document);
    if (samples.length === 0) return;
    const denials = group.filter(({ document }) => document.effect === 'deny');
    const denying = samples.map((args) => denials.find((other) => applies(other, args, new StepBudget())));
    const [first] = denying;
    if (first === undefined || denying.includes(undefined)) return;
    const { id } = rule.document;
    const by = first.document.id;
    const message = `What rule '${id}' allows of ${place}, rule '${by}' denies`;
    this.#warn('contradiction', [id, by], message);
  }

  #checkRule(rule: CompiledRule): void {
    const { document, tools } = rule;
    const { id, server, effect, args = {}, required = [], annotations } = document;
    if (server.includes('*'))
      this.#error('wildcard', [id], `Rule '${id}': '${server}' is an exact name, '*' is no wildcard`);
    const all = tools.find((tool) => isPattern(tool) && effect === 'allow');
    if (all !== undefined && annotations === undefined)
      this.#warn('wildcard', [id], `Rule '${id}': '${all}' allows tools that ${server} may list later, too`);
    if (effect === 'allow' && annotations !== undefined)
      this.#warn('claim', [id], `Rule '${id}' takes the word of ${server} for what its tools do; pin them`);
    for (const [argument, schema] of Object.entries(args)) {
      const where = `Rule '${id}', argument '${argument}'`;
      if (effect === 'allow' && takesAnything(schema))
        this.#warn('any_value', [id], `${where}: takes any value`);
      for (const tool of tools) {
        const found = lintArgument(document, tool, argument, schema, this.#takenBy(server, tool, argument));
        for (const { code, message } of found) this.#warn(code, [id], message);
        if (found.length > 0) break;
      }
    }
    for (const { arg, fields } of rule.sources)
      for (const { server: from, tool } of fields)
        if (
          this.#catalog?.hasServer(from) === true &&
          tool !== '*' &&
          !this.#catalog.names(from).includes(tool)
        )
          this.#error('dead', [id], `Rule '${id}', sources of '${arg}': ${from} lists no tool '${tool}'`);
    if (effect === 'deny') return;
    for (const tool of this.#namedBy(rule)) {
      const { name, barred, definition, checks } = tool;
      if (barred !== undefined) {
        const message = `Rule '${id}': ${server}/${name} is barred (${barred.reasonCode}): ${barred.message}`;
        this.#warn('barred', [id], message);
        continue;
      }
      if (checks !== undefined && checks.unchecked.length > 0) {
        const patterns = checks.unchecked.map((pattern) => JSON.stringify(pattern.slice(0, 80))).join(', ');
        const message = `Rule '${id}': ${server}/${name} has patterns that only its server checks: ${patterns}`;
        this.#warn('unchecked_pattern', [id], message);
      }
      if (checks !== undefined && checks.ignored.length > 0) {
        const found = checks.ignored.slice(0, MAX_IGNORED).join('; ');
        const message = `Rule '${id}': the schema of ${server}/${name} is not checked where it is written wrong: ${found}`;
        this.#warn('ignored_keyword', [id], message);
      }
      const { required: byTool } = definition.inputSchema as { required?: unknown };
      const given = new Set([...required, ...(Array.isArray(byTool) ? byTool : [])]);
      for (const argument of effect === 'allow' ? Object.keys(args) : []) {
        if (given.has(argument)) continue;
        const message = `Rule '${id}': ${server}/${name} can be called without '${argument}'; add it to 'required' if the rule relies on it`;
        this.#warn('optional_argument', [id], message);
      }
      if (effect === 'allow' && Object.keys(args).length === 0 && isDestructive(definition.annotations))
        this.#warn(
          'destructive',
          [id],
          `Rule '${id}' allows any call of ${server}/${name}, which is destructive`,
        );
    }
  }

  /** The tools that a rule is about, as far as they are known. */
  #namedBy(rule: CompiledRule): readonly CatalogTool[] {
    const { server, annotations } = rule.document;
    const names = this.#catalog?.names(server).filter((name) => namesTool(rule, name)) ?? [];
    return names
      .flatMap((name) => this.#catalog?.find(server, name) ?? [])
      .filter(({ definition }) => claims(annotations, definition.annotations));
  }

  /** The schema that a tool has for an argument, as far as it is known. */
  #takenBy(server: string, tool: string, argument: string): unknown {
    const { properties } = readObject(this.#catalog?.find(server, tool)?.definition.inputSchema);
    return readObject(properties)[argument];
  }

  #error(code: LintCode, ruleIds: readonly string[], message: string): void {
    this.#findings.push({ severity: 'error', code, ruleIds, message });
  }

  #warn(code: LintCode, ruleIds: readonly string[], message: string): void {
    this.#findings.push({ severity: 'warning', code, ruleIds, message });
  }
}

interface Group {
  readonly server: string;
  readonly tool: string;
  readonly rules: CompiledRule[];
}

/** The rules by server and tool, or by what has a `*`. */
function groups(rules: readonly CompiledRule[]): readonly Group[] {
  const byPlace = new Map<string, Group>();
  const patterns = rules.filter((rule) => rule.patterns.length > 0);
  for (const { document, tools } of rules)
    for (const tool of tools) {
      const { server } = document;
      byPlace.set(JSON.stringify([server, tool]), { server, tool, rules: [] });
    }
  for (const rule of rules) {
    const { server } = rule.document;
    for (const tool of rule.tools) byPlace.get(JSON.stringify([server, tool]))?.rules.push(rule);
  }
  for (const { server, tool, rules: group } of byPlace.values()) {
    const more = patterns.filter(
      (rule) => rule.document.server === server && !rule.tools.includes(tool) && namesTool(rule, tool),
    );
    group.unshift(...more);
  }
  return [...byPlace.values()];
}

/** Equal for rules that apply to the same calls with the same effect. */
function toConditions({
  effect,
  args = {},
  required = [],
  provenance = [],
  sources = [],
  annotations = {},
  only_args,
  once,
}: RuleDocument): string {
  const [wanted, given] = [required, provenance].map((names) => [...names].sort());
  return canonicalJson({ effect, args, wanted, given, sources, annotations, only_args, once });
}

/** Most combinations of the values that a rule lists. */
const MAX_SAMPLES = 16;

/** All calls that a rule names value by value (`const`, `enum`); none when it takes others too, or too many. */
function listSamples({ args = {} }: RuleDocument): readonly JsonObject[] {
  let samples: readonly JsonObject[] = [{}];
  for (const [argument, schema] of Object.entries(args)) {
    const { const: one, enum: some = one === undefined ? [] : [one] } = schema as {
      const?: unknown;
      enum?: unknown;
    };
    if (!Array.isArray(some) || samples.length * some.length > MAX_SAMPLES) return [];
    samples = samples.flatMap((sample) => some.map((value: unknown) => ({ ...sample, [argument]: value })));
  }
  return Object.keys(args).length === 0 ? [] : samples;
}

function takesAnything(schema: object | boolean): boolean {
  const says = ['title', 'description', '$comment', 'default', 'examples'];
  return typeof schema === 'boolean' ? schema : Object.keys(schema).every((key) => says.includes(key));
}

/** By the server's own word. A server that says nothing is not called destructive, although MCP's default is. */
function isDestructive(annotations: unknown): boolean {
  if (!isObject(annotations) || annotations.readOnlyHint === true) return false;
  return (
    annotations.destructiveHint === true ||
    (annotations.readOnlyHint === false && annotations.destructiveHint !== false)
  );
}
