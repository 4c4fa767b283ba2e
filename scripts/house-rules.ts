/**
 * The rules of the source tree that the linter cannot express. A *room* is a folder directly under `src`; imports
 * between rooms go down the list in one direction, and every folder is entered through its `index.ts`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The rooms in the order of their imports: each may use those before it. */
export const ROOMS: readonly string[] = [
  'base',
  'json',
  'signals',
  'evidence',
  'wire',
  'interaction',
  'processor',
  'otlp',
  'postgres',
  'clickhouse',
  'durable',
  'archive',
  'instrumentation',
  'mcp-client',
  'approvals',
  'policy',
  'execution',
  'orchestrator',
  'golden',
  'setup',
  'collector',
  'runs',
  'ui',
  'entries',
  'cli',
];

const MAX_LINES = 340;
/** A file and those that only it uses are one file while they have fewer lines together. */
const LONE_LINES = 200;
/** A longer regular expression is a list of words: nobody knows which of them still matter. */
const MAX_PATTERN_CHARS = 300;

/** Files and folders that broke a rule when it was made. The list may only shrink: what was mended must leave it. */
export const KNOWN: readonly string[] = [
  'collector/receiver/grpc-stream.ts',
  'instrumentation/mcp/metrics.ts',
  'setup/registration/other-hooks.ts',
];

interface SourceFile {
  /** Path below `src`, with `/`. */
  readonly path: string;
  readonly text: string;
  /** Paths below `src` of the files it imports or re-exports, types and dynamic imports included. */
  readonly imports: readonly string[];
}

/** A breach, and the file or folder that {@link KNOWN} may name. */
interface Breach {
  readonly place: string;
  readonly message: string;
}

/**
 * The breaches of the tree under `root`/src, each in one sentence.
 * @param known files and folders whose circles, long patterns and lone files are not reported.
 */
export function findBreaches(root: string, known: readonly string[] = []): string[] {
  const files = readSource(join(root, 'src'));
  const found = [...checkCircles(files), ...files.flatMap(checkPatterns), ...checkLoneFiles(files)];
  const places = new Set(found.map(({ place }) => place));
  return [
    ...found.filter(({ place }) => !known.includes(place)).map(({ message }) => message),
    ...known
      .filter((place) => !places.has(place))
      .map((place) => `${place} breaks no rule any more: take it off KNOWN (scripts/house-rules.ts)`),
    ...files.flatMap(checkLength),
    ...files.flatMap(checkOrder),
    ...files.flatMap(checkDoors),
    ...files.flatMap(checkOutput),
    ...files.flatMap(checkAttributeNames),
    ...files.flatMap(checkVerbs),
    ...checkCycles(files),
    ...checkNames(files),
  ];
}

function readSource(src: string): SourceFile[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => {
      const file = join(src, path);
      const text = readFileSync(file, 'utf8');
      const imports = relativeImports(text)
        .map((specifier) => join(dirname(file), specifier))
        .filter((target) => existsSync(target))
        .map((target) => relative(src, target));
      return { path, text, imports: imports.filter((target) => !target.startsWith('..')) };
    });
}

const STATIC_IMPORT = /^(?:import|export)\b[^;'"]*\bfrom '(\.[^']+)'/gm;
const BARE_IMPORT = /^import '(\.[^']+)'/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*'(\.[^']+)'\s*\)/g;

function relativeImports(text: string): string[] {
  return [STATIC_IMPORT, BARE_IMPORT, DYNAMIC_IMPORT].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier = '']) => specifier),
  );
}

function checkLength({ path, text }: SourceFile): string[] {
  const lines = text.split('\n').length - 1;
  if (lines <= MAX_LINES) return [];
  return [`${path} has ${lines} lines; split it by idea below ${MAX_LINES}`];
}

/** Files directly in `src` are the entries of the package; they stand above every room and nothing imports them. */
function checkOrder({ path, imports }: SourceFile): string[] {
  const from = roomOf(path);
  if (from !== undefined && !ROOMS.includes(from)) {
    return [`${path}: '${from}' is not in the list of rooms (scripts/house-rules.ts)`];
  }
  return imports.flatMap((target) => {
    const to = roomOf(target);
    if (from === to && from !== undefined) return [];
    const isBelow = to !== undefined && (from === undefined || ROOMS.indexOf(to) < ROOMS.indexOf(from));
    if (isBelow) return [];
    return [
      `${path} imports ${target}: ${to ?? 'an entry of the package'} is above ${from ?? 'the entries'}`,
    ];
  });
}

function roomOf(path: string): string | undefined {
  const slash = path.indexOf('/');
  return slash < 0 ? undefined : path.slice(0, slash);
}

/** Entering a folder from outside must hit the `index.ts` of the outermost folder entered. */
function checkDoors({ path, imports }: SourceFile): string[] {
  const from = foldersOf(path);
  return imports.flatMap((target) => {
    const entered = foldersOf(target).find((folder) => !from.includes(folder));
    if (entered === undefined || target === `${entered}/index.ts`) return [];
    return [`${path} imports ${target}: enter ${entered} by ${entered}/index.ts`];
  });
}

/**
 * The files that write to the process's own outputs, or watch what is written there; all others write through what these
 * give them.
 */
const WRITERS: readonly string[] = [
  'base/stderr-diag.ts',
  'cli/main.ts',
  'cli/run-program.ts',
  'golden/program/say.ts',
  'instrumentation/mcp/wire.ts',
  'setup/register.ts',
  'setup/register-required.ts',
];

/** A direct write could print control characters that a server has sent. */
function checkOutput({ path, text }: SourceFile): string[] {
  const [found] = /\bprocess\.std(?:out|err)\b|\bconsole\.\w+\(/.exec(text) ?? [];
  if (found === undefined || WRITERS.includes(path)) return [];
  return [`${path} uses ${found}: print through the Output of the command, or report through diag`];
}

/**
 * Where names stand as strings: the semantic conventions' own, the sources of the fields, and the tables of what other
 * instrumentations write. Names of other conventions (`llm.*`, `ai.*`, `traceloop.*`) are not looked for.
 */
const NAMING: readonly string[] = [
  'base/semconv.ts',
  'base/fields.ts',
  'base/cost-names.ts',
  'base/usage-names.ts',
  'interaction/dialects/',
  'interaction/usage.ts',
];

/** Attributes, metrics and events of the conventions; `gen_ai` has no other use. */
const CONVENTIONAL_NAME = new RegExp(
  `'(?:${[
    String.raw`(?:gen_ai|rpc|jsonrpc|network)\.[\w.]+`,
    String.raw`mcp\.(?:method|session|protocol|resource)\.[\w.]+`,
    String.raw`mcp\.(?:client|server)\.\w+\.duration`,
    String.raw`(?:openai|anthropic)\.(?:api|request|response|usage)\.[\w.]+`,
    String.raw`http\.(?:request|response)\.[\w.]+`,
    String.raw`(?:server|client)\.(?:address|port)|error\.type|service\.name`,
  ].join('|')})'`,
);

function checkAttributeNames({ path, text }: SourceFile): string[] {
  const [found] = CONVENTIONAL_NAME.exec(text) ?? [];
  if (found === undefined || NAMING.some((place) => path.startsWith(place))) return [];
  return [`${path} spells ${found}: use the constant of base/semconv.ts`];
}

/** Keywords of JSON Schema and of options, and what is public. */
const NOUNS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'gateOf', 'pathOf', 'priceOf'];

/** `readUsage` and `toUsage` say what `usageOf` leaves open: whether it is looked up, parsed or computed. */
function checkVerbs({ path, text }: SourceFile): string[] {
  const found = text.matchAll(/\b(?:function\*? |const )(\w+Of)(?:\(|<| = (?:async )?(?:\(|\w+ =>))/g);
  return [...found]
    .map(([, name = '']) => name)
    .filter((name) => !NOUNS.includes(name))
    .map((name) => `${path}: begin the name of '${name}' with a verb`);
}

/** The folders around a file, outermost first: `a/b/c.ts` is in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/**
 * In every folder, its subfolders and its own loose files must not depend on each other in a circle. The folder's
 * `index.ts` is left out: it only re-exports, and may name files that depend on its subfolders and the other way.
 */
function checkCycles(files: readonly SourceFile[]): string[] {
  const graphs = new Map<string, FolderGraph>();
  for (const { path, imports } of files) {
    for (const target of imports) {
      const shared = sharedFolder(path, target);
      const from = memberOf(shared, path);
      const to = memberOf(shared, target);
      if (from === to || from === 'index.ts' || to === 'index.ts') continue;
      const graph: FolderGraph = graphs.get(shared) ?? new Map();
      graphs.set(shared, graph);
      graph.set(from, (graph.get(from) ?? new Map<string, string>()).set(to, `${path} imports ${target}`));
    }
  }
  return [...graphs].flatMap(([folder, graph]) =>
    cyclesOf(graph).map((cycle) => `src/${folder}: folders in a circle: ${cycle.join('; ')}`),
  );
}

/** Members of a folder, what each depends on, and one import that shows it. */
type FolderGraph = Map<string, Map<string, string>>;

function sharedFolder(a: string, b: string): string {
  const others = foldersOf(b);
  return foldersOf(a).findLast((folder) => others.includes(folder)) ?? '';
}

/** The subfolder that holds a file, `.` for the folder's own files, or its `index.ts`. */
function memberOf(folder: string, path: string): string {
  const rest = folder === '' ? path : path.slice(folder.length + 1);
  const slash = rest.indexOf('/');
  if (slash >= 0) return rest.slice(0, slash);
  return rest === 'index.ts' ? rest : '.';
}

/** Cycles found by one depth-first search, each as the imports that close it. */
function cyclesOf(graph: FolderGraph): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (node: string, trail: readonly string[], imports: readonly string[]): void => {
    const start = trail.indexOf(node);
    if (start >= 0) cycles.push(imports.slice(start));
    if (start >= 0 || done.has(node)) return;
    for (const [next, shown] of graph.get(node) ?? []) visit(next, [...trail, node], [...imports, shown]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, [], []);
  return cycles;
}

/** The files of one folder must not import each other in a circle, types included: move what they share to a file of its own. */
function checkCircles(files: readonly SourceFile[]): Breach[] {
  const graph: FolderGraph = new Map(
    files.map(({ path, imports }) => {
      const near = imports.filter((target) => dirname(target) === dirname(path));
      return [path, new Map(near.map((target) => [target, `${path} imports ${target}`]))];
    }),
  );
  return cyclesOf(graph).map((cycle) => {
    const place = dirname(cycle[0]?.split(' ')[0] ?? '');
    return { place, message: `src/${place}: files in a circle: ${cycle.join('; ')}` };
  });
}

const PATTERN_LITERAL =
  /(?:^|[=(,:[!&|?{};]|\breturn)\s*\/(?![/*])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/[a-z]*/gm;
const PATTERN_TEXT = /\bnew RegExp\(\s*(?:`([^`]*)`|'([^'\n]*)'|"([^"\n]*)")/g;

function checkPatterns({ path, text }: SourceFile): Breach[] {
  if (text.slice(0, 1_000).includes('do not edit')) return [];
  const patterns = [PATTERN_LITERAL, PATTERN_TEXT].flatMap((form) =>
    [...text.matchAll(form)].map(([, ...parts]) => parts.find((part) => part !== undefined) ?? ''),
  );
  const longest = Math.max(0, ...patterns.map(({ length }) => length));
  if (longest <= MAX_PATTERN_CHARS) return [];
  const message = `${path} has a regular expression of ${longest} characters; write its words as a list, or split it below ${MAX_PATTERN_CHARS}`;
  return [{ place: path, message }];
}

/**
 * A file that only one other of its folder imports is part of that one where they fit. They are more than one idea where
 * the file is loaded on its own (`import()`), or where the importer and all that only it uses would not fit together.
 */
function checkLoneFiles(files: readonly SourceFile[]): Breach[] {
  const lines = new Map(files.map(({ path, text }) => [path, text.split('\n').length - 1]));
  const importers = new Map<string, Set<string>>();
  const parts = new Map<string, string[]>();
  for (const { path, text, imports } of files) {
    // By itself as well, so that a file that is loaded on its own has two.
    const lazy = [...text.matchAll(DYNAMIC_IMPORT)].map(([, specifier = '']) =>
      join(dirname(path), specifier),
    );
    for (const target of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));
    for (const target of lazy) importers.get(target)?.add(target);
  }
  for (const [path, [importer = '', ...others]] of importers) {
    const isLone = others.length === 0 && dirname(importer) === dirname(path);
    if (isLone && !importer.endsWith('index.ts')) parts.set(importer, [...(parts.get(importer) ?? []), path]);
  }
  return [...parts].flatMap(([importer, lone]) => {
    const together = [importer, ...lone].reduce((sum, path) => sum + (lines.get(path) ?? 0), 0);
    if (together >= LONE_LINES) return [];
    return lone.map((place) => ({
      place,
      message: `${place} is imported by ${importer} alone; make it part of it`,
    }));
  });
}

const EXPORTED =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;

const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}/gm;

/** Overloads, and a type beside the value of its name, are one definition: they are in one file. */
function checkNames(files: readonly SourceFile[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    for (const [, name = ''] of text.matchAll(EXPORTED)) {
      places.set(name, (places.get(name) ?? new Set<string>()).add(path));
    }
  }
  const twice = [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(
      ([name, paths]) => `'${name}' is defined in ${[...paths].join(', ')}: give each concept its own name`,
    );
  return [...twice, ...files.flatMap(checkAliases)];
}

function checkAliases({ path, text }: SourceFile): string[] {
  return [...text.matchAll(EXPORT_LIST)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+) as (\w+)/g)].map(
      ([, name, alias]) => `${path} exports '${name}' as '${alias}': one concept has one name`,
    ),
  );
}
