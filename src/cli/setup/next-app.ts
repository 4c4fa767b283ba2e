/** The two files that an application of Next.js needs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { decodeUtf8, type FileEdit, findEditable, readIfThere } from '../command-line/index.ts';
import { isFile } from './launch.ts';

const CONFIGURATIONS = ['next.config.ts', 'next.config.mts', 'next.config.mjs', 'next.config.js'];
const INSTRUMENTATIONS = ['instrumentation.ts', 'instrumentation.js', 'instrumentation.mjs'];
const OURS = 'mcp-observatory/next';
const IMPORT = `import { withObservatory } from '${OURS}';\n`;
const REGISTER = `export { register } from '${OURS}';\n`;

export function nextChanges(folder: string): { changes: FileEdit[]; notes: string[] } {
  const found = [wrapConfiguration(folder), addInstrumentation(folder)];
  return {
    changes: found.filter((one) => typeof one === 'object'),
    notes: found.filter((one) => typeof one === 'string'),
  };
}

/** What is exported is given a name, and exported wrapped: whatever its form. */
function wrapConfiguration(folder: string): FileEdit | string | undefined {
  const name = CONFIGURATIONS.find((each) => isFile(join(folder, each)));
  const path = findEditable(join(folder, name ?? 'next.config.mjs'));
  const before = readIfThere(path);
  const text = decodeUtf8(path, before);
  if (text.includes(OURS)) return undefined;
  if (before === undefined) return { path, before, text: `${IMPORT}\nexport default withObservatory({});\n` };
  const exports = [...text.matchAll(/^(export default|module\.exports =) /gm)];
  const [found] = exports;
  if (found === undefined || exports.length > 1 || text.includes('configOfApplication'))
    return `${path} is not understood. Write in it: export default withObservatory(config), imported from ${OURS}`;
  const { 0: statement, 1: kind, index } = found;
  const isModule = kind === 'export default';
  const rest = text.slice(index + statement.length);
  const [, identifier, after] = /^([\w$]+)(;?\s*)$/.exec(rest) ?? [];
  const wrapper = isModule ? 'withObservatory' : `require('${OURS}').withObservatory`;
  const head = isModule ? `${IMPORT}${text.slice(0, index)}` : text.slice(0, index);
  if (identifier !== undefined)
    return { path, before, text: `${head}${kind} ${wrapper}(${identifier})${after}` };
  const end = rest.endsWith('\n') ? '' : '\n';
  const named = `const configOfApplication = ${rest}${end}`;
  return { path, before, text: `${head}${named}${kind} ${wrapper}(configOfApplication);\n` };
}

function addInstrumentation(folder: string): FileEdit | string | undefined {
  // Next.js reads it beside `app` and `pages`.
  const isInSrc = ['src/app', 'src/pages'].some((each) => existsSync(join(folder, each)));
  const at = isInSrc ? join(folder, 'src') : folder;
  const isTyped = isFile(join(folder, 'tsconfig.json'));
  const name = INSTRUMENTATIONS.find((each) => isFile(join(at, each)));
  const path = findEditable(join(at, name ?? `instrumentation.${isTyped ? 'ts' : 'js'}`));
  const before = readIfThere(path);
  const text = decodeUtf8(path, before);
  if (text.includes(OURS)) return undefined;
  if (!/\bregister\b/.test(text)) {
    const end = text === '' || text.endsWith('\n') ? '' : '\n';
    return { path, before, text: `${text}${end}${REGISTER}` };
  }
  const own = /^export (?:async )?function register\(\)[^{\n]*\{/m.exec(text);
  if (own === null || !own[0].includes('async '))
    return `${path} is not understood. Call in its register(): await (await import('${OURS}')).register()`;
  const from = own.index + own[0].length;
  const call = `\n  await (await import('${OURS}')).register();`;
  return { path, before, text: `${text.slice(0, from)}${call}${text.slice(from)}` };
}
