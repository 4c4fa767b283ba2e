import {
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import {
  type CallHost,
  guard,
  keep,
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  reportHooked,
} from '../shared/index.ts';
import { registerAiSdk } from './ai-sdk.ts';
import { AI_SDK_SPANS_RANGE, patchAiSdk } from './ai-sdk-spans.ts';
import { CLAUDE_AGENT_RANGE, patchClaudeAgent } from './claude-agent.ts';
import { LANGCHAIN_FILES, LANGCHAIN_RANGE } from './langchain.ts';
import { MASTRA_FILES, MASTRA_RANGE } from './mastra.ts';
import { OPENAI_AGENTS_FILES, OPENAI_AGENTS_RANGE } from './openai-agents.ts';

/** The frameworks whose runs are traced, with their versions. */
export const FRAMEWORK_VERSIONS: readonly (readonly [name: string, versions: string])[] = [
  ['ai', '>=5.0.0 <8'],
  ['@ai-sdk/mcp', '>=1.0.0 <3'],
  ['@anthropic-ai/claude-agent-sdk', '>=0.3.0 <1'],
  ['@langchain/core', '>=0.3.0 <2'],
  ['@mastra/core', '>=1.33.0 <2'],
  ['@openai/agents-core', '>=0.1.0 <1'],
];

/** Options of {@link FrameworkInstrumentation}. */
export type FrameworkInstrumentationConfig = ModelInstrumentationConfig;

/**
 * Runs, model calls and tool calls of agent frameworks, as one trace each: the AI SDK, the Claude Agent SDK, LangChain,
 * LangGraph, Mastra and the OpenAI Agents SDK. Nothing of a framework is loaded that the application does not load.
 */
export class FrameworkInstrumentation extends ModelInstrumentation<FrameworkInstrumentationConfig> {
  // The super constructor calls init() and enable(), before initializers of a subclass would run: none here.
  declare private unregister: (() => void) | undefined;

  constructor(config: FrameworkInstrumentationConfig = {}) {
    super('frameworks', config);
  }

  override enable(): void {
    super.enable();
    this.unregister ??= registerAiSdk(() => this.host());
  }

  override disable(): void {
    super.disable();
    this.unregister?.();
    this.unregister = undefined;
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    return [
      this.definition('ai', AI_SDK_SPANS_RANGE, patchAiSdk),
      this.definition('@anthropic-ai/claude-agent-sdk', CLAUDE_AGENT_RANGE, patchClaudeAgent),
      this.files('@langchain/core', LANGCHAIN_RANGE, LANGCHAIN_FILES, ['js', 'cjs']),
      this.files('@mastra/core', MASTRA_RANGE, MASTRA_FILES, ['js', 'cjs']),
      this.files('@openai/agents-core', OPENAI_AGENTS_RANGE, OPENAI_AGENTS_FILES, ['mjs', 'js']),
    ];
  }

  /** Files of a package, loaded by whatever entry; `endings` are those of its ES modules and CommonJS. */
  private files(
    name: string,
    versions: string[],
    patches: ReadonlyMap<string, (exports: unknown, host: () => CallHost | undefined) => unknown>,
    endings: readonly string[],
  ): InstrumentationNodeModuleDefinition {
    const files = [...patches].flatMap(([file, patch]) =>
      endings.map((ending) => {
        const hook = (exports: unknown, version?: string) => {
          reportHooked({ name, version, patched: [file], missing: [] });
          return guard(`patching ${name}`, () => patch(exports, () => this.host())) ?? exports;
        };
        return new InstrumentationNodeModuleFile(`${name}/${file}.${ending}`, versions, hook, keep);
      }),
    );
    return new InstrumentationNodeModuleDefinition(name, versions, undefined, undefined, files);
  }

  /** A package whose exports a framework's file replaces or patches. */
  private definition(
    name: string,
    versions: string[],
    patch: <T>(exports: T, host: () => CallHost | undefined) => T,
  ): InstrumentationNodeModuleDefinition {
    return new InstrumentationNodeModuleDefinition(
      name,
      versions,
      (exports: unknown, version?: string) => {
        reportHooked({ name, version, patched: ['runs'], missing: [] });
        return guard(`patching ${name}`, () => patch(exports, () => this.host())) ?? exports;
      },
      keep,
    );
  }

  private host(): CallHost | undefined {
    return this.isEnabled() ? this.callHost() : undefined;
  }
}
