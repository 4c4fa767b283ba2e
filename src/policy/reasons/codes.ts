/**
 * Every reason the gate gives. The codes are stable and part of the public API; `gate` is the gate that gives it.
 */
export const REASONS = {
  input_blocked: { gate: 'G0', meaning: 'The request asks for something the input policy blocks' },
  input_ill_formed: { gate: 'G0', meaning: 'The request is empty, too long or not well-formed text' },

  plan_not_json: { gate: 'G1', meaning: 'The planner did not answer with exactly one JSON value' },
  plan_not_utf8: { gate: 'G1', meaning: 'The planner did not answer in UTF-8' },
  plan_byte_order_mark: { gate: 'G1', meaning: 'The plan starts with a byte order mark' },
  plan_too_large: { gate: 'G1', meaning: 'The plan is larger than the limit' },
  plan_too_deep: { gate: 'G1', meaning: 'The plan is nested deeper than the limit' },
  plan_too_many_values: { gate: 'G1', meaning: 'The plan holds more values than the limit' },
  plan_duplicate_key: { gate: 'G1', meaning: 'A key occurs twice in one object' },
  plan_prototype_key: { gate: 'G1', meaning: 'A key reaches a prototype' },
  plan_unsafe_number: { gate: 'G1', meaning: 'A number cannot be held exactly' },
  plan_ill_formed_string: { gate: 'G1', meaning: 'A string holds a lone surrogate' },
  plan_not_an_object: { gate: 'G1', meaning: 'The plan is not a JSON object' },
  plan_unknown_type: { gate: 'G1', meaning: 'The plan is neither call_tool nor final_answer' },
  plan_unknown_key: { gate: 'G1', meaning: 'The plan has a key its type does not have' },
  plan_missing_key: { gate: 'G1', meaning: 'The plan lacks a key of its type' },
  plan_wrong_type: { gate: 'G1', meaning: 'A key of the plan has a value of the wrong type' },

  server_unknown: { gate: 'G2', meaning: 'No server of that name is connected' },
  tool_unknown: { gate: 'G2', meaning: 'The server does not list a tool of that name' },
  tool_invalid: { gate: 'G2', meaning: 'The tool definition is not one MCP allows' },
  tool_schema_refused: { gate: 'G2', meaning: 'A schema of the tool cannot be checked safely' },
  tool_duplicate: { gate: 'G2', meaning: 'Two tools that rules allow have this name; both are barred' },
  tool_unapproved: { gate: 'G2', meaning: 'The tool definition has no approved pin' },
  tool_changed: { gate: 'G2', meaning: 'The tool definition differs from the approved one' },
  args_invalid: { gate: 'G2', meaning: 'The arguments do not fit the input schema of the tool' },
  args_unknown_key: { gate: 'G2', meaning: 'An argument is not one the tool declares' },
  args_unsafe: { gate: 'G2', meaning: 'The arguments hold something no schema makes safe' },
  args_check_failed: { gate: 'G2', meaning: 'Checking the arguments took too much work or failed' },

  policy_unavailable: { gate: 'G3', meaning: 'There is no usable policy, so everything is denied' },
  not_allowlisted: { gate: 'G3', meaning: 'No rule allows this call' },
  rule_denied: { gate: 'G3', meaning: 'A rule denies this call' },
  argument_rule_unmet: { gate: 'G3', meaning: 'Rules allow the tool, not with these arguments' },
  source_not_allowed: {
    gate: 'G3',
    meaning: 'An argument came from where the rules do not allow it to come from',
  },
  rule_dead: { gate: 'G3', meaning: 'A rule about this tool names an argument that the tool does not take' },
  prompt_template_missing: {
    gate: 'G3',
    meaning: 'The policy requires a prompt template, and none is named',
  },
  request_not_allowed: {
    gate: 'G3',
    meaning: 'The policy does not allow this request, which is no tool call',
  },
  resource_uri_refused: { gate: 'G3', meaning: 'Readers may take the URI of the resource for another one' },
  approval_required: { gate: 'G3', meaning: 'A human has to approve this exact call' },
  approval_invalid: { gate: 'G3', meaning: 'The approval is unknown, used, expired or for another call' },
  approval_rejected: { gate: 'G3', meaning: 'A human rejected this exact call' },
  budget_exceeded: { gate: 'G3', meaning: 'A budget of the policy is used up' },
  rate_limited: { gate: 'G3', meaning: 'The rate limit of calls is reached' },
  args_uncountable: {
    gate: 'G3',
    meaning: 'An argument that is counted, or names an effect, is missing or has no one exact form',
  },
  sequence_refused: { gate: 'G3', meaning: 'What was called before in the run rules it out' },
  effect_done: { gate: 'G3', meaning: 'The effect was done, and is done at most once' },
  effect_running: { gate: 'G3', meaning: 'A call with this effect is under way' },
  effect_unknown: { gate: 'G3', meaning: 'A call with this effect was made, and nobody knows its outcome' },
  ledger_unavailable: {
    gate: 'G3',
    meaning: 'What was called before cannot be looked up, so nothing is called',
  },
  decision_point_denied: { gate: 'G3', meaning: 'The external policy decision point denies this call' },
  decision_point_failed: { gate: 'G3', meaning: 'The external policy decision point did not answer' },
  audit_unavailable: { gate: 'G3', meaning: 'The audit record could not be written, so nothing is called' },
  bypass_refused: { gate: 'G3', meaning: 'A gated client does not open ways around the gate' },
  allowed: { gate: 'G3', meaning: 'A rule allows this call' },
  approved: { gate: 'G3', meaning: 'A human approved this exact call' },
  final_answer: { gate: 'G1', meaning: 'The plan ends the step without a call' },

  output_is_error: { gate: 'G4', meaning: 'The tool reported an error' },
  output_malformed: { gate: 'G4', meaning: 'The result is not a tool result' },
  output_too_large: { gate: 'G4', meaning: 'The result is larger than the limit' },
  output_untyped: { gate: 'G4', meaning: 'No output type is registered for the tool' },
  output_missing: { gate: 'G4', meaning: 'The result has no structuredContent' },
  output_invalid: { gate: 'G4', meaning: 'structuredContent does not fit the output type' },
  output_check_failed: { gate: 'G4', meaning: 'Checking the result took too much work or failed' },
  output_contradicts_text: { gate: 'G4', meaning: 'The text of the result contradicts structuredContent' },
  output_echo_mismatch: { gate: 'G4', meaning: 'The result is about another id than the one asked for' },
  tool_failed: { gate: 'G4', meaning: 'The call threw, timed out or lost its server' },
  output_accepted: { gate: 'G4', meaning: 'The result fits its type' },

  summary_invalid: { gate: 'G5', meaning: 'The summary does not have the form of a summary' },
  claim_too_long: { gate: 'G5', meaning: 'A claim has more words than the limit' },
  claim_number_unsupported: { gate: 'G5', meaning: 'A number, date or id of the claim is not in the quote' },
  claim_name_unsupported: { gate: 'G5', meaning: 'A name, address or link of the claim is not in the quote' },
  claim_unrelated: { gate: 'G5', meaning: 'The claim and the quote share too few words' },
  claim_polarity: { gate: 'G5', meaning: 'One of claim and quote is negated, the other is not' },
  claim_contradicts_result: { gate: 'G5', meaning: 'The evidence risk of the claims is above the limit' },
  claim_invisible_character: { gate: 'G5', meaning: 'The claim holds an invisible character' },
  evidence_invisible_character: { gate: 'G5', meaning: 'The quote holds an invisible character' },
  evidence_not_found: { gate: 'G5', meaning: 'The quote is not in the source' },
  evidence_case_mismatch: { gate: 'G5', meaning: 'The quote is in the source only with other capitals' },
  evidence_too_short: {
    gate: 'G5',
    meaning: 'The quote is too short and not a whole line, sentence or item',
  },
  evidence_cut_word: { gate: 'G5', meaning: 'The quote starts or ends inside a word or number' },
  evidence_negated_context: { gate: 'G5', meaning: 'A negation or restriction is left out of the quote' },
  evidence_truncation_marker: { gate: 'G5', meaning: 'The quote is a mark of truncation, not content' },
  evidence_echo: { gate: 'G5', meaning: 'The quote is what the caller itself said' },
  evidence_reused: { gate: 'G5', meaning: 'One quote carries more items than the limit' },
  accepted: { gate: 'G5', meaning: 'Every claim has its quote' },
} as const satisfies Record<string, { gate: `G${0 | 1 | 2 | 3 | 4 | 5}`; meaning: string }>;

/** A reason the gate gives. */
export type ReasonCode = keyof typeof REASONS;

/** G0 input, G1 plan, G2 catalog and arguments, G3 policy, G4 output, G5 evidence. */
export type Gate = (typeof REASONS)[ReasonCode]['gate'];

/** The gate that gives a reason. */
export function gateOf(reason: ReasonCode): Gate {
  return REASONS[reason].gate;
}
