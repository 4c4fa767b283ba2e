/** OpenAI's closed model families; `gpt-oss` is served by anyone. */
const OPENAI_MODEL = /^(?:gpt-(?!oss)|chatgpt-|o\d|ft:gpt-|text-embedding-|davinci|babbage)/;

/** Models that Chat Completions does not serve. */
const RESPONSES_ONLY =
  /^(?:o\d+(?:-mini)?-(?:pro|deep-research)|gpt-\d+(?:\.\d+)?(?:-mini)?-(?:pro|codex)|codex-|computer-use-)/;

/** Models that reason, and may give their reasoning encrypted. */
const REASONING = /^(?:o\d|gpt-(?:[5-9]|\d\d)|codex-|computer-use-)/;

export function isOpenAiModel(model: string | undefined): boolean {
  return model !== undefined && OPENAI_MODEL.test(model);
}

/** Whether a model is served by the Responses API alone. */
export function needsResponses(model: string): boolean {
  return RESPONSES_ONLY.test(model);
}

/** Whether a model reasons; one that does not refuses a request for encrypted reasoning. */
export function isReasoningModel(model: string): boolean {
  return REASONING.test(model) && !model.includes('-chat');
}
