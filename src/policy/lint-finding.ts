/**
 * - `unusable`: a rule or test with which the policy does not load.
 * - `unreachable`: a rule that can never decide, because a stronger one comes first.
 * - `dead`: a rule for a server, tool or argument that does not exist.
 * - `wildcard`: `*` in the name of a server, which is compared as it is; or an allow rule for tools that do not exist yet.
 * - `claim`: an allow rule that relies on what servers say of their tools.
 * - `contradiction`: what one rule allows, another denies.
 * - `no_effect`: another rule with the same effect already covers it.
 * - `optional_argument`: a condition that a call escapes by leaving the argument out.
 * - `any_value`: a condition that takes every value.
 * - `untyped_limit`: a limit without a type, which no value of another type gets around, where the tool takes others.
 * - `unanchored_pattern`: a pattern that says nothing about the start or the end of the text.
 * - `any_text`: a pattern for a command or a path with a part that takes anything.
 * - `path_as_text`: a pattern for paths that the same file under another path gets around.
 * - `destructive`: any call of a tool is allowed that its server calls destructive.
 * - `barred`: a tool that a rule allows cannot be called, because of its definition.
 * - `unchecked_pattern`: a pattern of a tool's schema that is not checked before the call.
 * - `ignored_keyword`: a keyword of a tool's schema that asserts nothing, for it is written wrong.
 * - `shadow`: the policy records decisions and enforces none.
 */
export type LintCode =
  | 'unusable'
  | 'unreachable'
  | 'dead'
  | 'wildcard'
  | 'claim'
  | 'contradiction'
  | 'no_effect'
  | 'optional_argument'
  | 'any_value'
  | 'untyped_limit'
  | 'unanchored_pattern'
  | 'any_text'
  | 'path_as_text'
  | 'destructive'
  | 'barred'
  | 'unchecked_pattern'
  | 'ignored_keyword'
  | 'shadow';

export interface LintFinding {
  /** With an error the policy does not load, or a rule never does what it says. */
  readonly severity: 'error' | 'warning';
  readonly code: LintCode;
  readonly ruleIds: readonly string[];
  readonly message: string;
}
