/** Ajv as the gate configures it. */
import { createRequire } from 'node:module';
import type { Ajv as AjvInstance, CodeKeywordDefinition, KeywordCxt } from 'ajv';
import { linearRegExp } from './linear-regexp.ts';
import { MAX_REFS_FOLLOWED, type RefBudget } from './schema-check.ts';

export type SchemaDialect = '2020-12' | '2019-09' | 'draft-07';

const AJV_MODULES: Readonly<Record<SchemaDialect, string>> = {
  '2020-12': 'ajv/dist/2020.js',
  '2019-09': 'ajv/dist/2019.js',
  'draft-07': 'ajv',
};

type AjvConstructor = new (options: object) => AjvInstance;

// Loaded with the first schema: ajv and its formats take 60 ms, which a program without a gate should not pay.
const load = createRequire(import.meta.url);

/** For schemas from servers: all of JSON Schema at a bounded cost. Each validation draws on `budget`. */
export function createAjv(dialect: SchemaDialect, budget: RefBudget, validateFormats: boolean): AjvInstance {
  const ajv = newAjv(dialect, {
    strict: false,
    // Without it `{}` satisfies `required: ["toString"]`.
    ownProperties: true,
    // Inlined references multiply code; one function per reference keeps it linear in the schema.
    inlineRefs: false,
    validateFormats,
    logger: false,
    validateSchema: false,
    code: { regExp: linearRegExp },
  });
  if (dialect === 'draft-07') ajv.addMetaSchema(load('ajv/dist/refs/json-schema-draft-06.json') as object);
  countRefs(ajv, budget);
  return ajv;
}

/** For schemas an operator wrote: strict mode catches `maxLenght`. */
export function createStrictAjv(): AjvInstance {
  return newAjv('2020-12', {
    strict: true,
    strictRequired: false,
    strictTypes: false,
    ownProperties: true,
    logger: false,
    code: { regExp: linearRegExp },
  });
}

function newAjv(dialect: SchemaDialect, options: object): AjvInstance {
  const ajv = createPlainAjv(dialect, options);
  (load('ajv-formats') as { default: (ajv: AjvInstance) => void }).default(ajv);
  return ajv;
}

/** Ajv as it comes, without formats or budget: for checks whose schemas or outcome do not decide anything. */
export function createPlainAjv(dialect: SchemaDialect, options: object): AjvInstance {
  const module = load(AJV_MODULES[dialect]) as { default: AjvConstructor };
  return new module.default(options);
}

/** Makes the compiled code of every `$ref` and `$dynamicRef` count itself. */
function countRefs(ajv: AjvInstance, budget: RefBudget): void {
  const tick = (): void => {
    budget.left -= 1;
    if (budget.left < 0) throw new RangeError(`more than ${MAX_REFS_FOLLOWED} references were followed`);
  };
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const rule = ajv.RULES.all[keyword];
    if (typeof rule !== 'object') continue;
    const definition = rule.definition as CodeKeywordDefinition;
    const code = definition.code;
    const counted = (cxt: KeywordCxt, ruleType?: string): void => {
      const { _ } = load('ajv') as typeof import('ajv');
      cxt.gen.code(_`${cxt.gen.scopeValue('func', { ref: tick })}()`);
      code.call(definition, cxt, ruleType);
    };
    (rule as { definition: unknown }).definition = { ...definition, code: counted };
  }
}
