import { semconv } from '../../base/index.ts';
import { firstText, toText } from '../../json/index.ts';
import { readAmount } from '../../signals/index.ts';
import { type InteractionKind, interactionKind, isModelCall } from '../kind.ts';
import { answerText, conversationText, PART_SEPARATOR, withSteps } from '../messages.ts';
import { normalizeProvider } from '../provider.ts';
import { usageInText } from '../provider-response.ts';
import { OUTPUT_NAME, readScalars, type Scalars } from '../scalars.ts';
import type { SpanView } from '../span-view.ts';
import type { Interaction } from '../types.ts';
import { type ReportedUsage, readUsage } from '../usage.ts';
import { aiSdk } from './ai-sdk.ts';
import { hasLongContent, isReadable } from './content-size.ts';
import type { Dialect, DialectContent } from './dialect.ts';
import { openInference } from './openinference.ts';
import { openLlmetry } from './openllmetry.ts';
import { semconvAttributes } from './semconv-attributes.ts';
import { semconvEvents } from './semconv-events.ts';
import { wholeValues } from './whole-values.ts';

/** Every dialect, in order of preference. */
const DIALECTS: readonly Dialect[] = [
  semconvAttributes,
  semconvEvents,
  openInference,
  openLlmetry,
  aiSdk,
  ...wholeValues,
];

/**
 * Reads a call's interaction from a span of any dialect. Broken JSON, wrong types and missing parts leave fields out;
 * nothing throws.
 *
 * @param given data attached to the span. It takes precedence over attributes. An attached prompt or answer is not read
 * from the span; with attached tool arguments neither is. Attached tool calls count as those in messages do.
 */
export function readInteraction(span: SpanView, given: Interaction = {}): Interaction {
  const { attributes } = span;
  const attached = withSteps(given);
  const { usage: reported } = attached;
  const isTold = attached.provider !== undefined && attached.model !== undefined && reported !== undefined;
  const scalars = isTold ? NO_SCALARS : reported === undefined ? readTold(span) : readScalars(attributes);
  const provider = scalars.provider === undefined ? undefined : normalizeProvider(scalars.provider);
  const providerCostUsd = attached.providerCostUsd ?? readProviderCost(attributes);
  const written = attached.written ?? readWritten(span, attached);
  const told = isTold ? NOTHING_TOLD : readUsage(span, scalars, provider ?? written.provider, written.model);
  // One literal instead of spreads: this runs for every model call, and spreads cost microseconds.
  return {
    prompt: attached.prompt ?? written.prompt,
    answer: attached.answer ?? written.answer,
    retrievedContext: attached.retrievedContext ?? written.retrievedContext,
    secondaryAnswer: attached.secondaryAnswer,
    toolResultSummary: attached.toolResultSummary ?? written.toolResultSummary,
    steps: attached.steps ?? written.steps,
    stepContext: attached.stepContext ?? written.stepContext,
    provider: attached.provider ?? provider ?? written.provider,
    model: attached.model ?? scalars.model ?? written.model,
    serverAddress: attached.serverAddress ?? toText(attributes[semconv.ATTR_SERVER_ADDRESS]),
    requestedModel:
      (attached.provider ?? provider) === 'aws.bedrock'
        ? toText(attributes[semconv.ATTR_GEN_AI_REQUEST_MODEL])
        : undefined,
    serviceTier: attached.serviceTier ?? readServiceTier(attributes) ?? told.serviceTier,
    usage: reported ?? told.usage,
    providerCostUsd: providerCostUsd ?? told.costUsd,
    isCostComputed: providerCostUsd === undefined ? told.isCostComputed : undefined,
    toolArguments: attached.toolArguments ?? written.toolArguments,
    toolArgumentsText: attached.toolArgumentsText,
    identities: attached.identities,
    evidence: attached.evidence,
    tools:
      attached.tools ??
      (written === UNREADABLE
        ? undefined
        : (attributes[semconv.ATTR_GEN_AI_TOOL_DEFINITIONS] ?? attributes['ai.prompt.tools'])),
    plainRequest: attached.plainRequest,
  };
}

/**
 * What a span says of its call; of a model's that has no counts, with those that one of its events has, or the answer in
 * its output. Where several events have some, nobody knows which are of the whole.
 */
function readTold(span: SpanView): Scalars {
  const { attributes, events = [] } = span;
  const own = readScalars(attributes);
  if ((own.counts ?? own.usageObjects) !== undefined || !isModelCall(interactionKind(span))) return own;
  const told: Scalars[] = [];
  for (const event of events.slice(-MAX_EVENTS)) {
    const said = readScalars(event.attributes ?? {});
    if ((said.counts ?? said.usageObjects) !== undefined) told.push(said);
    // No third one could tell more, and each is parsed.
    if (told.length > 1) break;
  }
  const beside = told.length === 0 ? readOutput(attributes) : told.length === 1 ? told[0] : undefined;
  if (beside === undefined) return own;
  const { counts, usageObjects } = beside;
  return {
    ...own,
    counts,
    usageObjects,
    model: own.model ?? beside.model,
    cost: own.cost ?? beside.cost,
    isOfOtherCurrency: own.isOfOtherCurrency === true || beside.isOfOtherCurrency === true,
  };
}

/** Streams write one for each chunk, and the counts last. */
const MAX_EVENTS = 128;

function readOutput(attributes: SpanView['attributes']): Scalars | undefined {
  for (const attribute in attributes) {
    const told = OUTPUT_NAME.test(attribute) ? usageInText(attributes[attribute]) : undefined;
    if (told === undefined) continue;
    const { usage, whole, model } = told;
    return { usageObjects: [{ object: usage, attribute, whole }], model };
  }
  return undefined;
}

/** The texts and tool arguments on the span that are not attached. */
export function readWritten(span: SpanView, attached: Interaction): Interaction {
  const wantsInput = attached.prompt === undefined;
  const wantsOutput = attached.answer === undefined;
  if (!wantsInput && !wantsOutput) return NOTHING;
  const kind = interactionKind(span);
  if (kind === undefined || (kind === 'tool' && attached.toolArguments !== undefined)) return NOTHING;
  if (hasLongContent(span) && !isReadable(span)) return UNREADABLE;
  const found = findContent(span, kind);
  const request = wantsInput && found.input !== undefined ? conversationText(found.input) : NOTHING;
  return {
    prompt: request.prompt,
    answer: wantsOutput && found.output !== undefined ? answerText(found.output) : undefined,
    retrievedContext: wantsInput ? joinEvidence(request.retrievedContext, found.documents) : undefined,
    toolResultSummary: request.toolResultSummary,
    steps: request.steps,
    stepContext: request.stepContext,
    toolArguments: found.toolArguments,
    model: found.model,
    provider: found.provider === undefined ? undefined : normalizeProvider(found.provider),
  };
}

/** The messages that a span holds, in any dialect, and the arguments of a tool. Nothing throws. */
export function readSpanMessages(span: SpanView): DialectContent {
  const kind = interactionKind(span);
  return kind === undefined || (hasLongContent(span) && !isReadable(span)) ? {} : findContent(span, kind);
}

const NO_SCALARS: Scalars = Object.freeze({});
const NOTHING_TOLD: ReportedUsage = Object.freeze({});
const NOTHING: Interaction = Object.freeze({});
/** Of a span with so much content that reading it would hold the event loop. */
const UNREADABLE: Interaction = Object.freeze({});

/** Tries the dialects in order; each field comes from the first that has it. */
function findContent(span: SpanView, kind: InteractionKind): DialectContent {
  const found: { -readonly [F in keyof DialectContent]: DialectContent[F] } = {};
  for (const dialect of DIALECTS) {
    const content = dialect.read(span, kind);
    if (content === undefined) continue;
    found.input ??= content.input;
    found.output ??= content.output;
    found.documents ??= content.documents;
    found.toolArguments ??= content.toolArguments;
    found.toolResult ??= content.toolResult;
    found.model ??= content.model;
    found.provider ??= content.provider;
    if (found.input !== undefined && found.output !== undefined) break;
  }
  return found;
}

function joinEvidence(
  results: string | undefined,
  documents: readonly string[] | undefined,
): string | undefined {
  if (documents === undefined) return results;
  return [...(results === undefined ? [] : [results]), ...documents].join(PART_SEPARATOR);
}

/** The tier that our instrumentations say served the call, else the requested one. Those of others are in the scalars. */
function readServiceTier(attributes: SpanView['attributes']): string | undefined {
  return firstText(
    attributes[semconv.ATTR_OPENAI_RESPONSE_SERVICE_TIER],
    attributes[semconv.ATTR_ANTHROPIC_RESPONSE_SERVICE_TIER],
    attributes[semconv.ATTR_GEN_AI_RESPONSE_SERVICE_TIER],
    attributes[semconv.ATTR_OPENAI_REQUEST_SERVICE_TIER],
  );
}

/** Proposed for the semantic conventions (semantic-conventions-genai#443). */
function readProviderCost(attributes: SpanView['attributes']): number | undefined {
  if (attributes[semconv.ATTR_GEN_AI_USAGE_COST_SOURCE] !== 'provider') return undefined;
  const currency = attributes[semconv.ATTR_GEN_AI_USAGE_COST_CURRENCY];
  return currency === 'USD' ? readAmount(attributes[semconv.ATTR_GEN_AI_USAGE_COST_AMOUNT]) : undefined;
}
