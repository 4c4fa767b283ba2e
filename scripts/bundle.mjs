/**
 * Makes what the package ships, `dist/lib`: a file for each entry of `package.json`, one for each program, and the
 * chunks they share. `npm run build:bundle` bundles the sources; `npm run build:types`, this script with `--types`,
 * adds the declarations, from those that `tsc` has written to `dist/src`; `--strict` makes its warnings errors.
 */
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LIB = join(ROOT, 'dist/lib');
/** For tests of what an entry loads: the code itself names no modules. */
const CHUNKS = join(ROOT, 'dist/chunks.json');

/** Sources of the entries, by their names in `package.json`. */
const ENTRIES = {
  index: 'index',
  instrumentation: 'entries/instrumentation',
  register: 'setup/register',
  next: 'setup/next',
  worker: 'setup/worker',
  policy: 'entries/policy',
  orchestrator: 'entries/orchestrator',
  golden: 'entries/golden',
  execution: 'entries/execution',
  collector: 'entries/collector',
  record: 'entries/record',
  replay: 'entries/replay',
};

/** Without declarations. All but the first are loaded by a chunk, which expects them beside itself. */
const PROGRAMS = {
  cli: 'cli/main',
  registering: 'setup/registering',
  'last-export-process': 'setup/last-export-process',
  'embedded-thread': 'postgres/embedded-thread',
  'hook-probe': 'setup/registration/hook-probe',
};

/** CommonJS files: what `--require` loads, also in Node versions that only get a message, and what scores answers. */
const REQUIRED = {
  'register.cjs': { input: 'src/setup/register-required.ts', target: 'node16' },
  'evidence.cjs': { input: 'src/evidence/scores.ts', target: 'node20.19' },
};

/** `mcp-observatory/next` in Next.js's edge runtime, where there is nothing to hook. */
const NEXT_EDGE = `export async function register() {}
export const withObservatory = (config) => config;
`;

/**
 * `mcp-observatory/golden` for `require`: Jest has one of its own, which before Node 24.9 takes no ES module. Node's is
 * behind it. In `package.json` it is under `node-addons`, which both know and TypeScript, whose types it lacks, does not.
 */
const GOLDEN_REQUIRED = `const ofNode = Object.getPrototypeOf(require('node:module')).createRequire;
module.exports = (ofNode?.(__filename) ?? require)('./golden.js');
`;

/** A file of its own beside the others, by which they import it. */
const HOOK = './hook-program.js';
const WITHIN_HOOK = /^(?:unbash|@opentelemetry\/api)$/;

/** Packages stay imports, since hooks and peers must be the application's own; only the bundler's helpers go in. */
const isExternal = (id) => !/^[./]|^@oxc-project\/runtime\//.test(id);

if (process.argv.includes('--types')) await bundleTypes();
else await bundleCode();

async function bundleCode() {
  const bundle = await rolldown({
    input: inputs({ ...ENTRIES, ...PROGRAMS }, 'src', '.ts'),
    external: isExternal,
    plugins: [{ name: 'beside', resolveId: (id) => (id === HOOK ? { id, external: 'relative' } : null) }],
    platform: 'node',
    transform: { target: 'node20.19' },
    treeshake: { moduleSideEffects: false },
    experimental: { attachDebugInfo: 'none' },
  });
  // Moved when it is complete: another process may be loading it.
  const unfinished = `${LIB}-${process.pid}`;
  const { output } = await bundle.write({
    dir: unfinished,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { jsdoc: false },
    // With its lines and names: an uncaught error shows a line of it, and its stack trace the names. An import takes
    // 3 % longer than with minified code.
    minify: false,
    // What every entry needs comes in few files: opening one takes longer than parsing what it has too much.
    codeSplitting: {
      groups: [
        // All that the command line needs before it knows the command, and the bundler's helpers, which any chunk may need.
        {
          name: 'errors',
          test: /\/src\/base\/(?:errors|version|printable|plural|decode-uri|lines|known-options|peer)\.ts|@oxc-project.runtime/,
          priority: 1,
        },
        {
          name: 'core',
          test: /\/src\/(?:base\/(?:suppress-tracing|within|error-class|private-files|bisect|live-process|sdk|stderr-diag|metric-reader)|json\/(?:canonical|lenient|kept-value|redact\/)|approvals\/approval\.ts|(?:signals|wire|interaction|processor)\/)/,
          priority: 1,
        },
        // Only gates, orchestrators and goldens validate.
        { name: 'schema', test: /\/src\/json\// },
        // The queue asks whether a row was at fault, whatever the spans are sent to.
        {
          name: 'durable',
          test: /\/src\/(?:durable|otlp)\/|\/src\/postgres\/database-error\.ts/,
          priority: 1,
        },
        { name: 'postgres', test: /\/src\/(?:postgres\/(?!embedded-thread)|clickhouse\/)/ },
        { name: 'execution', test: /\/src\/execution\/(?:instrument|tool-error|shadow\/under-way)\.ts/ },
        // Apart from what loads OpenTelemetry's module hooks, which most entries do not need.
        {
          name: 'instrumented',
          test: /\/src\/instrumentation\/(?:shared\/(?!index|model-instrumentation)|mcp\/(?!index|instrumentation))/,
          priority: 1,
        },
        { name: 'hooked', test: /\/src\/instrumentation\// },
        // A few lines each, of what servers and commands ask of a store.
        { name: 'decide', test: /\/src\/approvals\/(?:decide-now|review-database|sql)\.ts/ },
        { name: 'run-row', test: /\/src\/runs\/(?:status|units|store\/(?:run-row|tax))\.ts/ },
        { name: 'words', test: /\/src\/evidence\/(?:values\/number-words|language\/)/ },
        // What the flag and `startObservatory` share, a few lines each.
        {
          name: 'registration',
          test: /\/src\/setup\/(?:exit|register-globally|registration\/(?:environment|installed|patch-installed))\.ts/,
        },
        // What several commands share, a few lines each.
        {
          name: 'command-line',
          test: /\/src\/cli\/(?:command-line\/(?:ending-signal|flags|run-options|exit-codes|jsonl|subcommand)|terminal\/(?:table|waterfall))\.ts/,
        },
      ],
    },
  });
  await bundle.close();
  for (const [name, source] of Object.entries(REQUIRED)) await bundleRequired(source, join(unfinished, name));
  await bundleHook(join(unfinished, HOOK), output);
  writeFileSync(join(unfinished, 'next-edge.js'), NEXT_EDGE);
  writeFileSync(join(unfinished, 'golden.cjs'), GOLDEN_REQUIRED);
  await bundlePage(join(unfinished, 'page'));
  rmSync(LIB, { recursive: true, force: true });
  renameSync(unfinished, LIB);
  writeFileSync(CHUNKS, JSON.stringify(output.flatMap(describe)));
}

/** What a chunk is made of, by paths from the root, and what it imports when it is loaded. */
function describe({ type, fileName, moduleIds, imports }) {
  if (type !== 'chunk') return [];
  return [{ fileName, modules: moduleIds.map((id) => relative(ROOT, id).replaceAll('\\', '/')), imports }];
}

/**
 * The command that agents wait for, with the packages it needs: opening their files would take most of its time. What it
 * imports only now and then it finds among the others.
 */
async function bundleHook(file, others) {
  const resolveId = (id, _importer, { kind }) => {
    if (kind !== 'dynamic-import' || !id.startsWith('.')) return null;
    const name = basename(id, '.ts');
    const found = others.find((other) => other.isDynamicEntry && other.name === name);
    return { id: `./${found?.fileName ?? `${name}.js`}`, external: 'relative' };
  };
  const bundle = await rolldown({
    input: join(ROOT, 'src/cli', HOOK.replace(/\.js$/, '.ts')),
    external: (id) => isExternal(id) && !WITHIN_HOOK.test(id),
    plugins: [{ name: 'beside', resolveId }],
    platform: 'node',
    resolve: { conditionNames: ['module', 'import', 'node', 'default'] },
    transform: { target: 'node20.19' },
    treeshake: { moduleSideEffects: false },
  });
  const license = readFileSync(join(ROOT, 'node_modules/unbash/LICENSE'), 'utf8').trim();
  await bundle.write({
    file,
    format: 'esm',
    codeSplitting: false,
    comments: false,
    // Its errors are told by their messages alone.
    minify: true,
    postBanner: `/*! With @opentelemetry/api (Apache-2.0) and unbash:\n${license}\n*/`,
  });
  await bundle.close();
}

/** One CommonJS file: for programs that `--require` it, or for code that cannot wait for an import. */
async function bundleRequired({ input, target }, file) {
  const bundle = await rolldown({
    input: join(ROOT, input),
    external: (id) => isExternal(id) || id === './register.js',
    platform: 'node',
    transform: { target },
    treeshake: { moduleSideEffects: false },
  });
  await bundle.write({ file, format: 'cjs', comments: { jsdoc: false }, minify: false });
  await bundle.close();
}

/**
 * The page is one script for browsers, with what it needs inside, beside its markup and its style. Of the rooms it imports
 * it takes what runs in a browser; what needs Node or a package is left out because nothing of the page uses it.
 */
async function bundlePage(folder) {
  const source = join(ROOT, 'src/ui/page');
  const bundle = await rolldown({
    input: join(source, 'main.tsx'),
    external: (id) => isExternal(id) && !id.startsWith('preact'),
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    transform: { target: 'es2022' },
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await bundle.write({
    file: join(folder, 'page.js'),
    format: 'esm',
    minify: true,
    comments: false,
  });
  await bundle.close();
  const needed = output.flatMap(({ imports }) => imports);
  if (needed.length > 0) throw new Error(`The page would import ${needed.join(', ')} in the browser`);
  cpSync(join(source, 'index.html'), join(folder, 'index.html'));
  const style = readFileSync(join(source, 'page.css'), 'utf8');
  writeFileSync(join(folder, 'page.css'), minifyStyle(style));
}

/** Without comments, zeros before points, and the space around braces, colons of declarations, semicolons, commas and `>`. */
function minifyStyle(style) {
  return style
    .replace(/\/\*[\s\S]*?\*\//gu, '')
    .replace(/\s+/gu, ' ')
    .replace(/ ?([{};,>]) ?/gu, '$1')
    .replace(/([{;][a-z\d-]+): /gu, '$1:')
    .replace(/([:, (])0\./gu, '$1.')
    .replaceAll(';}', '}');
}

async function bundleTypes() {
  const bundle = await rollup({
    input: inputs(ENTRIES, 'dist/src', '.d.ts'),
    external: isExternal,
    plugins: [dts()],
    onwarn: ({ code, message }, warn) => {
      // `register` declares nothing. Any other warning names a type that an entry uses and does not export.
      if (code === 'EMPTY_BUNDLE') return;
      if (process.argv.includes('--strict')) throw new Error(message);
      warn(message);
    },
  });
  await bundle.write({
    dir: LIB,
    format: 'esm',
    entryFileNames: '[name].d.ts',
    // What several entries share, a few lines each.
    manualChunks: (id) =>
      /\/(?:json\/lenient-json|durable\/stats|evidence\/trace\/types)\.d\.ts$/.test(id)
        ? 'shared'
        : undefined,
    chunkFileNames: ({ name }) => `${name.replace(/\.d$/, '')}-[hash].d.ts`,
  });
  await bundle.close();
  // `register` declares nothing, in either module system.
  writeFileSync(join(LIB, 'register.d.cts'), 'export {};\n');
}

function inputs(modules, folder, extension) {
  const named = Object.entries(modules).map(([name, module]) => [
    name,
    join(ROOT, folder, module + extension),
  ]);
  return Object.fromEntries(named);
}
