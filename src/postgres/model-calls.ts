export const IS_MODEL_OPERATION =
  "operation IN ('chat', 'generate_content', 'text_completion', 'completion')";

/**
 * SQL condition for the rows of `mcp_traces` that are one request to a model with an answer: other rows repeat the
 * prompt or the usage of these.
 */
export const IS_MODEL_CALL = `(${IS_MODEL_OPERATION}
  OR (cost_source IS NOT NULL AND operation IS DISTINCT FROM 'embeddings' AND operation IS DISTINCT FROM 'embedding'
    AND operation IS DISTINCT FROM 'rerank'))`;

/** SQL condition for the rows of `mcp_traces` that are calls to models, each once, as the roll-ups and runs count them. */
export const IS_COUNTED_CALL =
  'mcp_traces_is_model_call(counted_on, tool_name, cost_source, prompt_tokens, method, operation, model, span_kind, attributes)';

/** SQL condition for the rows that name no prompt template. */
export const IS_UNTEMPLATED = `(prompt_template_id IS NULL OR btrim(prompt_template_id) = '')`;
