import { sliced } from '../base/index.ts';
import { readOfferedTools, type ToolOffer } from '../interaction/index.ts';
import { sha256Hex } from '../json/index.ts';
import {
  canCountTokens,
  type DefinitionForm,
  definitionText,
  estimateTokens,
  prepareToCountTokens,
  TOKENIZED_MODEL,
} from '../signals/index.ts';
import { RecentMap } from './recent-map.ts';

/** Definitions that are remembered by their text, for applications that make them anew for each call. */
const MAX_KNOWN = 8_192;
/** Lists that wait to be counted. */
const MAX_WAITING = 64;
/** Characters of new definitions that are read as a span ends; a call with more has no tax until they are counted. */
const MAX_CHARACTERS_AT_END = 524_288;

/** A definition, by its text. */
export interface CountedDefinition {
  /** SHA-256 of its text. */
  readonly hash: string;
  /** Of `o200k_base`; a quarter of its characters until they are counted. */
  tokens: number;
  isExact: boolean;
}

interface Waiting {
  readonly tools: unknown;
  readonly form: DefinitionForm;
  /** Whose vocabulary its messages need. */
  readonly model: string | undefined;
}

/**
 * The tokens of tool definitions. Each is counted once, by its object or else its text, and in the background: 300
 * definitions take 0.1 s.
 */
export class DefinitionCounts {
  readonly #bySource = {
    typescript: new WeakMap<object, CountedDefinition>(),
    json: new WeakMap<object, CountedDefinition>(),
  };
  readonly #byHash = new RecentMap<CountedDefinition>(MAX_KNOWN);
  readonly #waiting: Waiting[] = [];
  #work: Promise<void> | undefined;

  /** Counts a list in the background. */
  prepare(tools: unknown, form: DefinitionForm, model: string | undefined): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push({ tools, form, model });
    this.#work ??= this.#countAll().catch(() => {});
  }

  /** Resolves when nothing waits to be counted. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** What is known of the tools of a call that ends; undefined when too much of it is new. */
  of(offered: readonly ToolOffer[], form: DefinitionForm): readonly CountedDefinition[] | undefined {
    let characters = 0;
    const counted: CountedDefinition[] = [];
    for (const tool of offered) {
      let definition = this.#bySource[form].get(tool.source);
      if (definition === undefined) {
        const text = toText(tool, form);
        characters += text.length;
        if (characters > MAX_CHARACTERS_AT_END) return undefined;
        definition = this.#remember(tool.source, form, text);
      }
      counted.push(definition);
    }
    return counted;
  }

  #remember(source: object, form: DefinitionForm, text: string): CountedDefinition {
    const hash = sha256Hex(text);
    let definition = this.#byHash.get(hash);
    if (definition === undefined) {
      definition = { hash, tokens: Math.ceil(text.length / 4), isExact: text === '' };
      this.#byHash.set(hash, definition);
    }
    this.#bySource[form].set(source, definition);
    return definition;
  }

  async #countAll(): Promise<void> {
    try {
      // Not before the call has been made.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const turn = sliced();
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        for (const model of [TOKENIZED_MODEL, next.model ?? TOKENIZED_MODEL])
          if (!canCountTokens(model)) await prepareToCountTokens(model);
        for (const tool of readOfferedTools(next.tools)) {
          await turn();
          if (this.#bySource[next.form].get(tool.source)?.isExact === true) continue;
          const text = toText(tool, next.form);
          const definition = this.#remember(tool.source, next.form, text);
          if (definition.isExact) continue;
          definition.tokens = estimateTokens(text, TOKENIZED_MODEL);
          definition.isExact = true;
        }
      }
    } finally {
      this.#work = undefined;
    }
  }
}

/** Nothing for a tool whose definition the provider does not show. */
function toText({ definition }: ToolOffer, form: DefinitionForm): string {
  return definition === undefined ? '' : definitionText(definition, form);
}
