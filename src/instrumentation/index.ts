/**
 * Makes spans of the calls that model SDKs, MCP SDKs and frameworks make. It may import `base` to `processor`; an SDK
 * is only hooked, never imported.
 */
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { checkOptions, either, exactly, kinds, type OptionKinds } from '../base/index.ts';
import { AnthropicInstrumentation, type AnthropicInstrumentationConfig } from './anthropic/index.ts';
import { BedrockInstrumentation, type BedrockInstrumentationConfig } from './bedrock.ts';
import { FrameworkInstrumentation, type FrameworkInstrumentationConfig } from './frameworks/index.ts';
import { GoogleGenAIInstrumentation, type GoogleGenAIInstrumentationConfig } from './google-genai.ts';
import { McpInstrumentation, type McpInstrumentationConfig } from './mcp/index.ts';
import { OpenAIInstrumentation, type OpenAIInstrumentationConfig } from './openai.ts';

export {
  ANTHROPIC_VERSIONS,
  AnthropicInstrumentation,
  type AnthropicInstrumentationConfig,
} from './anthropic/index.ts';
export { BEDROCK_VERSIONS, BedrockInstrumentation, type BedrockInstrumentationConfig } from './bedrock.ts';
export {
  FRAMEWORK_VERSIONS,
  FrameworkInstrumentation,
  type FrameworkInstrumentationConfig,
} from './frameworks/index.ts';
export {
  GOOGLE_GENAI_VERSIONS,
  GoogleGenAIInstrumentation,
  type GoogleGenAIInstrumentationConfig,
} from './google-genai.ts';
export {
  instrumentMcpClient,
  instrumentMcpServer,
  McpInstrumentation,
  type McpInstrumentationConfig,
  type McpModule,
  type McpPeer,
  type McpPropagation,
  type McpSide,
  watchOwnWires,
} from './mcp/index.ts';
export { OPENAI_VERSIONS, OpenAIInstrumentation, type OpenAIInstrumentationConfig } from './openai.ts';
export type { ModelInstrumentationConfig } from './shared/index.ts';
export { type HookedModule, hookedModules, openCalls } from './shared/index.ts';

/** What {@link getObservatoryInstrumentations} makes; `false` leaves one out. */
export interface ObservatoryInstrumentationsConfig {
  /** Given to every instrumentation that has none of its own. @defaultValue false */
  readonly captureContent?: boolean | undefined;
  readonly mcp?: McpInstrumentationConfig | false | undefined;
  readonly openai?: OpenAIInstrumentationConfig | false | undefined;
  readonly anthropic?: AnthropicInstrumentationConfig | false | undefined;
  readonly googleGenAI?: GoogleGenAIInstrumentationConfig | false | undefined;
  readonly bedrock?: BedrockInstrumentationConfig | false | undefined;
  readonly frameworks?: FrameworkInstrumentationConfig | false | undefined;
}

const ONE = either(kinds.object, exactly(false));
const CONFIG: OptionKinds<ObservatoryInstrumentationsConfig> = {
  captureContent: kinds.boolean,
  mcp: ONE,
  openai: ONE,
  anthropic: ONE,
  googleGenAI: ONE,
  bedrock: ONE,
  frameworks: ONE,
};

/**
 * The instrumentations of this package: MCP, OpenAI, Anthropic, Google Gen AI, Amazon Bedrock and agent frameworks, for
 * `registerInstrumentations`, for `NodeSDK`, or for their own effect, since each hooks its module as soon as it is made.
 */
export function getObservatoryInstrumentations(
  config: ObservatoryInstrumentationsConfig = {},
): Instrumentation[] {
  checkOptions(config, CONFIG, 'getObservatoryInstrumentations()');
  const shared = config.captureContent === undefined ? {} : { captureContent: config.captureContent };
  const instrumentations: Instrumentation[] = [];
  if (config.mcp !== false) instrumentations.push(new McpInstrumentation({ ...shared, ...config.mcp }));
  if (config.openai !== false)
    instrumentations.push(new OpenAIInstrumentation({ ...shared, ...config.openai }));
  if (config.anthropic !== false) {
    instrumentations.push(new AnthropicInstrumentation({ ...shared, ...config.anthropic }));
  }
  if (config.googleGenAI !== false) {
    instrumentations.push(new GoogleGenAIInstrumentation({ ...shared, ...config.googleGenAI }));
  }
  if (config.bedrock !== false)
    instrumentations.push(new BedrockInstrumentation({ ...shared, ...config.bedrock }));
  if (config.frameworks !== false) {
    instrumentations.push(new FrameworkInstrumentation({ ...shared, ...config.frameworks }));
  }
  return instrumentations;
}
