import { CRITICAL_MARK } from './compaction.ts';

const MAX_INSTRUCTIONS_CHARS = 4_000;

const GUIDANCE = [
  'Use the tools when they help; call several at once only when none needs the result of another.',
  'Before a call, say in one sentence why you make it.',
  'When a call fails, read the error and change something: the arguments, the tool, or the size of the step. Never repeat a failed call unchanged.',
  'When results disagree, say so, and say which one you trust and why.',
  `Begin a line with ${CRITICAL_MARK} to keep that fact word for word when older turns are summarised.`,
  'When you are done, answer without calling tools, and combine what the tools returned into one answer.',
];

/** What a server says about its own use. */
export interface ServerNote {
  readonly server: string;
  readonly instructions: string;
}

/**
 * Composes the system prompt: the caller's text, how to work with tools, and the notes of the servers. Sections are
 * marked as each provider's models are used to: tags for Anthropic, headings for the others.
 */
export function buildSystemPrompt(
  systemPrompt: string,
  provider: string,
  hasTools: boolean,
  notes: readonly ServerNote[],
): string {
  const section = provider === 'anthropic' ? tagged : headed;
  const sections: string[] = [];
  if (systemPrompt.trim() !== '') sections.push(systemPrompt);
  if (hasTools) sections.push(section('Working with tools', GUIDANCE.map((line) => `- ${line}`).join('\n')));
  for (const { server, instructions } of notes) {
    sections.push(section(`Notes of the server ${server}`, instructions.slice(0, MAX_INSTRUCTIONS_CHARS)));
  }
  return sections.join('\n\n');
}

function tagged(title: string, text: string): string {
  const tag = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  return `<${tag}>\n${text}\n</${tag}>`;
}

function headed(title: string, text: string): string {
  return `## ${title}\n${text}`;
}

export const PLAN_REQUEST =
  'Before you start, make a plan. List the steps in order, one line each: the tool, what for, and which earlier step it depends on. Where a step may fail, add what to do then. Answer with the plan alone and call no tool yet.';

export const SUMMARY_REQUEST =
  'Summarise this transcript of an agent at work, so that the agent can go on without it. Keep every fact, identifier, path, number and decision that may still matter, what was tried and failed, and what is left to do. Answer with the summary alone.';

export function finalAnswerRequest(why: string): string {
  return `You cannot call any more tools: ${why}. Answer the task now as well as you can from what you know. Say what is missing.`;
}

/** How the messages begin that tell a model about results: their wording depends on what tools returned. */
export const NOTICES = {
  failed: 'The previous approach failed.',
  conflict: 'Results disagree.',
  looksFailed: 'This looks like an error:',
  plan: 'These steps of a plan have been taken:',
} as const;

export function isNotice(text: string): boolean {
  return Object.values(NOTICES).some((beginning) => text.startsWith(beginning));
}

export const LOOP_WARNING =
  'You have made the same call with the same arguments and got the same result several times. Doing it again will not help: use what you have, or do something else.';

export const CONTINUE_REQUEST =
  'Your answer was cut off by the output limit. Go on exactly where it stopped.';

export const MALFORMED_CALL =
  'Your tool call could not be read. Call the tool again with arguments that are one valid JSON object.';

export const EMPTY_ANSWER = 'Your answer was empty. Answer the task from the results you have.';
