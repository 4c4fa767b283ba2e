/**
 * SQL condition for the rows of `mcp_traces` that are one request to a model with an answer: other rows repeat the
 * prompt or the usage of these.
 */
export const IS_MODEL_CALL = `(operation IN ('chat', 'generate_content', 'text_completion', 'completion')
  OR (cost_source IS NOT NULL AND operation IS DISTINCT FROM 'embeddings' AND operation IS DISTINCT FROM 'embedding'
    AND operation IS DISTINCT FROM 'rerank'))`;

/** SQL condition for the rows that name no prompt template. */
export const IS_UNTEMPLATED = `(prompt_template_id IS NULL OR btrim(prompt_template_id) = '')`;
