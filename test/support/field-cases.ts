/** What each script of the data folder `field/mcp/cases` prints for a case when the case is right. */

/** The lines a script printed for one case. */
export interface FieldCase {
  readonly name: string;
  readonly text: string;
}

export interface FieldScript {
  readonly script: string;
  readonly args?: readonly string[];
  /** Cases in what it printed; by default one a line, named by its first word. */
  readonly cases?: (stdout: string) => readonly FieldCase[];
  /** What is wrong with a case, if anything. */
  readonly wrong: (one: FieldCase) => string | undefined;
}

const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

const byWord =
  (at: number) =>
  (stdout: string): readonly FieldCase[] =>
    lines(stdout).map((text) => ({ name: text.trim().split(/\s+/)[at] ?? text, text }));

const byWords =
  (...places: readonly number[]) =>
  (stdout: string): readonly FieldCase[] =>
    lines(stdout).map((text) => {
      const words = text.trim().split(/\s+/);
      return { name: places.map((at) => words[at]).join(' '), text };
    });

/** All that was printed, as one case. */
const whole = (stdout: string): readonly FieldCase[] => [{ name: 'all', text: stdout }];

const wants = (pattern: RegExp) => (one: FieldCase) =>
  pattern.test(one.text) ? undefined : `expected ${pattern}`;

const ZOD_LIST = /\[\\n {2}\{|"invalid_(?:type|union|value)|unrecognized_keys/;
const noZodList = (one: FieldCase) => (ZOD_LIST.test(one.text) ? 'a raw list of Zod' : undefined);

type Wrong = FieldScript['wrong'];

/** The rule of a case by its name, else the rule of all others. */
const byName =
  (rules: Readonly<Record<string, Wrong>>, other: Wrong): Wrong =>
  (one) =>
    noZodList(one) ?? (rules[one.name] ?? other)(one);

const any: Wrong = () => undefined;
const isFine = wants(/"?completed"?,?.*\[\[true,"fine"\]\]/);

const ENVELOPES: Readonly<Record<string, Wrong>> = {
  result_null_beside_error: wants(/\[\[false,null\]\].*no such row/),
  error_data_null: wants(/\[\[false,null\]\].*no such row/),
  no_jsonrpc_member: any,
  pretty_printed: any,
  log_before_on_same_line: any,
  ansi_before: any,
  batch_array: any,
  server_version_missing: any,
  server_info_missing: any,
  caps_tools_true: any,
  version_future: any,
  version_semver: any,
  cursor_same: any,
  tools_null: any,
  list_method_not_found: any,
  requests_roots_at_start: any,
};

const ownText =
  (text: string): Wrong =>
  (one) =>
    one.text.includes(text) && !/HTTP|jsonrpc/.test(one.text) ? undefined : 'not the text of the server';
const HTTP_FORMS: Readonly<Record<string, Wrong>> = {
  note_405: any,
  note_500: any,
  type_missing: any,
  type_text_plain: any,
  type_jsonrpc: any,
  sse_no_final_blank: any,
  sse_cut_no_id: wants(/\[\[false,null\]\]/),
  redirect_301: any,
  call_502_html: wants(/\[\[false,null\]\]/),
  call_500_rpc: ownText('database is locked'),
  call_400_rpc: ownText('id must be positive'),
  call_429: wants(/\[\[false,null\]\]/),
  call_200_html: any,
  call_200_empty: any,
  call_200_object: any,
  call_200_wrong_id: any,
  call_204: any,
  call_202_never: any,
  session_expired_401: any,
  call_400_about_session_arg: (one) =>
    /calls=1$/.test(one.text.trim())
      ? ownText('argument session_name is required (call 1)')(one)
      : 'not called once',
};

const starts = wants(/"state":"ready"/);
const refuses = wants(/REFUSED INVALID_SERVER_CONFIG/);
const namesMember = (member: string): Wrong => wants(new RegExp(member));
const startsNothing: Wrong = (one) => (/"state":"ready"/.test(one.text) ? 'it was started' : undefined);
/** Only `env` is offered, or the member is refused by its name. */
const filters =
  (member: string): Wrong =>
  (one) =>
    /"tools":\["env"\]/.test(one.text) || (/REFUSED/.test(one.text) && one.text.includes(member))
      ? undefined
      : 'the filter is ignored';
const CONFIG_FORMS: Readonly<Record<string, Wrong>> = {
  plain: starts,
  vscode_servers: wants(/"state":"ready"|REFUSED.*"servers"/),
  input_variable: wants(/REFUSED.*input/),
  workspace_folder: refuses,
  env_colon_unset: refuses,
  enabled_false: startsNothing,
  disabled_string: startsNothing,
  is_active_false: startsNothing,
  exclude_tools: filters('excludeTools'),
  include_tools: filters('includeTools'),
  disabled_tools: filters('disabledTools'),
  enabled_tools: filters('enabled_tools'),
  tools_filter: filters('tools'),
  allowed_tools: filters('allowedTools'),
  unknown_key_typo: namesMember('enviroment'),
  env_number: starts,
};

const PASSED_ON = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'PIP_INDEX_URL',
  'UV_DEFAULT_INDEX',
  'npm_config_registry',
  'PATH',
];

/** Denied on the day the cases were made, or still an open question: a decision is enough. */
const SCHEMAS_TO_ALLOW = [
  'multiple_of_cents',
  'multiple_of_tenth',
  'pattern_lookahead',
  'pattern_zod_email',
  'format_datetime_naive',
  'format_time_naive',
  'schema_d4',
  'd4_exclusive_without_schema',
];
const SCHEMAS_DENIED =
  /^(?:pattern_(?:escaped_slash_at|inline_flag|python_\w+|lookbehind|backref|posix)|schema_(?:bare|openapi|null)|required_\w+|properties_null|empty_schema|no_schema|type_(?:any|upper|int)|format_(?:uri_\w+|email_unicode|uuid_nohyphen)|big_id|ref_(?:missing|external|components)|additional_true|map_args|items_list|optional_null|string_\w+|array_as_string|object_as_string|bool_property|min_string)$/;

export const FIELD_SCRIPTS: readonly FieldScript[] = [
  {
    script: 'pins',
    args: ['changes'],
    cases: whole,
    wrong: (one) =>
      /unchanged +"1 approved"/.test(one.text) && /description +"exit 1/.test(one.text)
        ? undefined
        : 'a changed description is to be noticed, and only a change',
  },
  { script: 'envelopes', cases: jsonLines('name'), wrong: byName(ENVELOPES, isFine) },
  {
    script: 'results-to-provider',
    cases: jsonLines('p', 'name'),
    wrong: wants(/"stop":"completed".*"problems":\[\]/),
  },
  {
    script: 'processes',
    wrong: byName(
      {
        prints_help_exits_0: wants(/usage: foo/),
        prints_help_waits: wants(/usage: foo/),
        http_server_program: wants(/Listening on/),
        secret_in_stderr: (one) =>
          one.text.includes('abcdefghijklmnopqrstuvwxyz0123') ? 'a secret' : undefined,
        stderr_flood: wants(/\[ok fine\] \[ok fine\]/),
        // A busy machine lets it take a call that it does not answer, which is not made again.
        exits_after_list: wants(
          /(?: \[(?:ok fine|transport_error Server "s": the process exited with code 0\.)\]){2}/,
        ),
        slow_start: wants(/\[ok fine\] \[ok fine\]/),
        answers_then_exits: wants(/\[ok last words\]/),
        big_result: wants(/\[ok xxx/),
      },
      any,
    ),
  },
  {
    script: 'golden-values',
    cases: (stdout) =>
      byWord(1)(
        lines(stdout)
          .filter((line) => line.startsWith('openai '))
          .join('\n'),
      ),
    wrong: byName(
      // What no golden can hold costs the golden, not the run.
      { deep: wants(/rec completed \|/) },
      wants(/rec completed \| replay completed .* cli same/),
    ),
  },
  { script: 'fastmcp', cases: fastmcpCases, wrong: ({ text }) => (text === 'same' ? undefined : text) },
  { script: 'http-forms', wrong: byName(HTTP_FORMS, isFine) },
  {
    script: 'model-calls',
    cases: byWord(1),
    wrong: byName(
      {
        null: wants(/\[\[true,"GOT \{\}"\]\]/),
        double_encoded: wants(/\[\[true,"GOT \{\\"id\\":1\}"\]\]/),
        finish_length_empty: wants(/\[\[false,null\]\]/),
        finish_length_cut: wants(/\[\[false,null\]\]/),
        finish_length_whole: wants(/\[\[false,null\]\]/),
        same_id_twice: wants(/\[\[true,"GOT \{\\"id\\":1\}"\],\[true,"GOT \{\\"id\\":2\}"\]\]/),
      },
      (one) =>
        / completed /.test(one.text) && !one.text.includes('PROBLEMS') ? undefined : 'the run is lost',
    ),
  },
  { script: 'names', cases: byWords(0, 1), wrong: nameProblem },
  {
    script: 'poisoned-run',
    cases: byWords(0, 1),
    wrong: wants(/ true completed "All done\."/),
  },
  {
    script: 'lookaround',
    cases: whole,
    wrong: ({ text }) => {
      if (/^offered to (?:openai|gemini).*"pattern"/m.test(text)) return 'offered as a pattern';
      return /"ok":false|refused|blocked|barred/.test(text) ? 'the tool is lost' : undefined;
    },
  },
  {
    script: 'int64-schema',
    cases: whole,
    wrong: ({ text }) =>
      /false|refused|cannot be read|barred/.test(text) || !/^plan.*"allow"/m.test(text)
        ? 'the schema costs a tool'
        : undefined,
  },
  { script: 'evidence', cases: byWord(1), wrong: wants(/^ok /) },
  {
    script: 'gate-schemas',
    cases: byWord(1),
    wrong: (one) =>
      one.text.startsWith('allow ') ||
      (one.text.startsWith('deny ') && !SCHEMAS_TO_ALLOW.includes(one.name) && SCHEMAS_DENIED.test(one.name))
        ? undefined
        : 'expected allow',
  },
  { script: 'config-forms', wrong: byName(CONFIG_FORMS, any) },
  {
    script: 'env-inheritance',
    cases: whole,
    wrong: ({ text }) => {
      const passed = new Set(/^passed on :(.*)$/m.exec(text)?.[1]?.trim().split(' '));
      const missing = PASSED_ON.filter((name) => !passed.has(name));
      return missing.length === 0 ? undefined : `not passed on: ${missing.join(' ')}`;
    },
  },
  {
    script: 'stderr-to-model',
    wrong: (one) => (/Sup3rS3cretPw|FATAL|postgres:/.test(one.text) ? 'the model reads stderr' : undefined),
  },
  {
    script: 'zero-tools',
    cases: whole,
    // The server announces no tools and has one all the same.
    wrong: wants(/"server_connected","server":"s","tools":1|offers no tools/),
  },
  {
    script: 'passes',
    cases: whole,
    wrong: ({ text }) =>
      /row 1.*row 2/.test(text) &&
      /BOM ready/.test(text) &&
      /the same: 10/.test(text) &&
      /^mode Expected/m.test(text)
        ? undefined
        : 'one of them no longer holds',
  },
  {
    script: 'approvals',
    cases: whole,
    wrong: ({ text }) =>
      /'look 1', 'approval_required', 'approval_required'/.test(text) && text.split('pay 2').length === 2
        ? undefined
        : 'one approval is one call',
  },
];

function jsonLines(...members: readonly string[]): (stdout: string) => readonly FieldCase[] {
  return (stdout) =>
    lines(stdout).map((text) => {
      const value: Record<string, unknown> = JSON.parse(text);
      return { name: members.map((member) => value[member]).join(' '), text };
    });
}

function nameProblem({ text }: FieldCase): string | undefined {
  const found = /offered (\d+) unique (\d+) ok calls (\d+) distinct answers (\d+) problems \[\]/.exec(text);
  if (found === null) return /^(?:open|gated)/.test(text) ? 'problems' : undefined;
  return new Set(found.slice(1)).size === 1 ? undefined : 'a name reaches another tool';
}

/** Each tool of the server, with what it did behind the gate against what it did without. */
function fastmcpCases(stdout: string): readonly FieldCase[] {
  const [open = '', gated = ''] = stdout.split('--- mcpGhost with gate');
  const outcomes = (text: string) =>
    new Map([...text.matchAll(/^(ok|FAIL) +(\S+)/gm)].map(([, outcome, tool]) => [tool, outcome]));
  const behind = outcomes(gated);
  return [...outcomes(open)].map(([tool = '', outcome]) => {
    const other = behind.get(tool);
    return { name: tool, text: other === outcome ? 'same' : `${outcome} without a gate, ${other} behind it` };
  });
}
