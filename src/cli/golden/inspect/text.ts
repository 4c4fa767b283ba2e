import { formatPlural } from '../../../base/index.ts';
import { type Paint, printable, printableLine, wrapLines } from '../../terminal/index.ts';
import type { FailurePoint, ModelStep, Outcome, Step, Story, ToolStep, Totals } from './story.ts';
import {
  ageWords,
  costWords,
  countWords,
  durationWords,
  inlineJson,
  outcomeWords,
  spaced,
  stepFigures,
  tokenWords,
  totalTokens,
  turnWords,
} from './words.ts';

export interface TextOptions {
  readonly paint: Paint;
  readonly width: number;
  /** Show all of every text instead of its first lines. */
  readonly full: boolean;
  readonly now: Date;
}

/** Lines shown of a text that is cut. */
const MAX_LINES = 8;
const MIN_WIDTH = 40;
const MARGIN = 10;

/** A story as text for a terminal. Control characters of models and tools are escaped. */
export function formatStory(story: Story, options: TextOptions): string {
  const { paint } = options;
  const lines = [...header(story, options), ''];
  for (const [index, step] of story.steps.entries()) {
    lines.push(...block(heading(index + 1, step, paint), readBody(step, options)));
  }
  if (story.failures.length > 0) {
    lines.push('', paint('bold', paint('red', `Where it went wrong (${story.failures.length})`)));
    for (const failure of story.failures) lines.push(...failureLines(failure, options));
  }
  return lines.join('\n');
}

function header(story: Story, { paint, now }: TextOptions): string[] {
  const { outcome, totals } = story;
  const facts = [
    printableLine(spaced(story.category)),
    paint(story.source === 'scripted' ? 'yellow' : 'cyan', printableLine(story.source)),
    `${printableLine(story.provider)} ${printableLine(story.model)}`,
    story.recordedAt === null ? '' : ageWords(story.recordedAt, now),
  ].filter(Boolean);
  const calls = `${formatPlural(totals.toolCalls, 'tool call')}${totals.failedToolCalls === 0 ? '' : ` (${totals.failedToolCalls} failed)`}`;
  const figures = [
    formatPlural(totals.turns, 'turn'),
    calls,
    tokenFigure(totals),
    costWords(totals.costUsd),
    `model ${durationWords(totals.modelMs)}, tools ${durationWords(totals.toolMs)}`,
  ];
  return [
    `${paint('bold', printableLine(story.title))}  ${facts.join(paint('dim', ' · '))}`,
    ...(story.description === '' ? [] : [printableLine(story.description)]),
    ...story.problems.map(({ message }) => paint('red', `! ${printableLine(message)}`)),
    `${ending(outcome, paint)}  ${figures.join(paint('dim', ' · '))}`,
  ];
}

function ending(outcome: Outcome, paint: Paint): string {
  if (outcome.success === undefined) return paint('dim', 'no result kept');
  const words = printableLine(outcomeWords(outcome));
  return outcome.success ? paint('green', `✔ ${words}`) : paint('red', `✖ ${words}`);
}

function tokenFigure(totals: Totals): string {
  const total = totalTokens(totals);
  if (total === undefined) return 'tokens unknown';
  return `${countWords(total)} tokens (${tokenWords(totals.promptTokens, totals.completionTokens)})`;
}

function heading(number: number, step: Step, paint: Paint): string {
  const label = `${paint('dim', String(number).padStart(3))}  `;
  switch (step.kind) {
    case 'model':
      return `${label}${paint('cyan', 'model')}  ${modelFacts(step, paint)}`;
    case 'tool':
      return `${label}${paint(step.failure === undefined ? 'green' : 'red', 'tool')}   ${toolFacts(step, paint)}`;
    default:
      return `${label}${paint('bold', step.kind)}`;
  }
}

function modelFacts(step: ModelStep, paint: Paint): string {
  const facts = [
    `${printableLine(step.model ?? 'model')}, ${turnWords(step)}`,
    step.failure === undefined ? printableLine(step.finishReason ?? '') : paint('red', 'failed'),
    ...stepFigures(step),
  ];
  return facts.filter(Boolean).join(paint('dim', ' · '));
}

function toolFacts(step: ToolStep, paint: Paint): string {
  const facts = [
    paint('bold', printableLine(step.name)),
    step.failure === undefined ? '' : paint('red', 'failed'),
    ...stepFigures(step),
  ];
  return facts.filter(Boolean).join(paint('dim', ' · '));
}

function readBody(step: Step, options: TextOptions): string[] {
  const { paint } = options;
  const plain = (text: string): string => text;
  const dim = (text: string): string => paint('dim', text);
  const red = (text: string): string => paint('red', text);
  if (step.kind === 'model') {
    return [
      ...wrapped(step.reasoning, options, dim),
      ...wrapped(step.text, options, plain),
      ...step.calls.flatMap((call) =>
        wrapped(`→ ${call.name} ${inlineJson(call.arguments)}`, options, (text) => paint('yellow', text)),
      ),
      ...wrapped(step.failure ?? '', options, red),
    ];
  }
  if (step.kind === 'tool') {
    return [
      ...wrapped(step.arguments === undefined ? '' : inlineJson(step.arguments), options, dim),
      ...(step.failure === undefined
        ? wrapped(step.result, options, plain)
        : wrapped(`✖ ${step.failure}`, options, red)),
      ...wrapped(step.recovery === undefined ? '' : `↻ ${step.recovery}`, options, (text) =>
        paint('yellow', text),
      ),
    ];
  }
  return wrapped(step.text, options, step.kind === 'system' ? dim : plain);
}

function wrapped(
  text: string,
  { width, full, paint }: TextOptions,
  style: (text: string) => string,
): string[] {
  const columns = Math.max(MIN_WIDTH, width - MARGIN);
  // Only the visible part is cleaned: a result may have megabytes.
  const head = full ? text : text.slice(0, columns * MAX_LINES * 2);
  const shownHead = printable(head).replaceAll('\t', '    ');
  const { lines, left } = wrapLines(shownHead, columns, full ? Number.POSITIVE_INFINITY : MAX_LINES);
  const hidden = left + text.length - head.length;
  const shown = lines.map(style);
  return hidden === 0
    ? shown
    : [...shown, paint('dim', `… ${formatPlural(hidden, 'more character')}; --full shows them`)];
}

function block(head: string, body: readonly string[]): string[] {
  return [head, ...body.map((line) => (line === '' ? '' : `     ${line}`))];
}

function failureLines(failure: FailurePoint, options: TextOptions): string[] {
  const { paint } = options;
  const where = failure.step === undefined ? '  -' : String(failure.step).padStart(3);
  const what = `${paint('dim', where)}  ${paint('bold', printableLine(failure.what))}`;
  const recovery = failure.recovery === undefined ? '' : `↻ ${failure.recovery}`;
  return block(what, [
    ...wrapped(failure.message, options, (text) => paint('red', text)),
    ...wrapped(recovery, options, (text) => paint('yellow', text)),
  ]);
}
