/** The model behind `PolicyHost`: it is asked for text, and nothing it says is believed. */
import { ObservatoryError } from '../../errors.ts';

export interface PlannerMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** Anything that answers messages with a text: a provider's model, a recording, a script. */
export interface Planner {
  plan(messages: readonly PlannerMessage[]): Promise<string>;
}

export interface OpenAiPlannerOptions {
  /** Model id at the endpoint. */
  readonly model: string;
  /** Base URL of any OpenAI-compatible endpoint, with `/v1`. @defaultValue `OPENAI_BASE_URL`, else OpenAI */
  readonly baseUrl?: string | undefined;
  /** @defaultValue `OPENAI_API_KEY`, else `none`, which local endpoints take */
  readonly apiKey?: string | undefined;
  /** Longest wait for an answer, in milliseconds. @defaultValue 60000 */
  readonly timeoutMs?: number | undefined;
  /** Ask for `response_format: {"type": "json_object"}`, which not every endpoint knows. @defaultValue false */
  readonly jsonMode?: boolean | undefined;
}

/**
 * A planner over the chat completions of any OpenAI-compatible endpoint, through the official `openai` client.
 * @throws ObservatoryError `MISSING_PEER` when `openai` is not installed.
 */
export async function openAiPlanner(options: OpenAiPlannerOptions): Promise<Planner> {
  const { default: OpenAI } = await importOpenAi();
  const client = new OpenAI({
    apiKey: options.apiKey ?? process.env.OPENAI_API_KEY ?? 'none',
    baseURL: options.baseUrl,
    timeout: options.timeoutMs ?? 60_000,
    // One request per question: the control flow of a step has no hidden retries.
    maxRetries: 0,
  });
  return {
    async plan(messages) {
      let content: string | null | undefined;
      try {
        const completion = await client.chat.completions.create({
          model: options.model,
          messages: messages.map(({ role, content: text }) => ({ role, content: text })),
          temperature: 0,
          ...(options.jsonMode === true ? { response_format: { type: 'json_object' as const } } : {}),
        });
        content = completion.choices[0]?.message.content;
      } catch (cause) {
        const name = cause instanceof Error ? cause.name : 'an error';
        throw new ObservatoryError('PLANNER_FAILED', `The planner's endpoint failed with ${name}`, { cause });
      }
      if (typeof content !== 'string') {
        throw new ObservatoryError('PLANNER_FAILED', "The planner's endpoint answered without a text");
      }
      return content;
    },
  };
}

async function importOpenAi(): Promise<typeof import('openai')> {
  try {
    return await import('openai');
  } catch (cause) {
    throw new ObservatoryError('MISSING_PEER', "The OpenAI planner needs 'openai': npm install openai@6", {
      cause,
    });
  }
}
