/** `mcp-observatory gate learn` and `gate what-if`: from recorded calls to a policy, and what a policy makes of them. */
import { writeFileSync } from 'node:fs';
import { type DecidedCall, decideRecorded, learnPolicy, readPolicyFile } from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { listReadTools, TOOLS_FLAGS } from './policy-options/index.ts';
import { RECORDING_FLAGS, type Recordings, readRecordings } from './recordings.ts';
import { printableLine } from './terminal/index.ts';

/** Writes the tightest policy that allows what was recorded. Exit code 1 when it cannot allow some of it. */
export async function runGateLearn(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = {
    ...RECORDING_FLAGS,
    ...TOOLS_FLAGS,
    out: { type: 'string' },
    wide: { type: 'boolean' },
    json: { type: 'boolean' },
  } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const recordings = await readRecordings(positionals, values, io);
  tellMissing(recordings, io);
  const tools = await listReadTools(values, io.env);
  const { policy, words, left } = await learnPolicy(recordings.calls, {
    isWide: values.wide === true,
    tools,
  });
  if (policy.rules.length === 0) throw usageError('There is no call to learn from');
  const text = `${JSON.stringify(policy, null, 2)}\n`;
  if (values.out === undefined) io.stdout.write(text);
  else writeNew(values.out, text);
  // Beside the policy on stdout there is nothing else.
  const say = (line: string): void =>
    (values.out === undefined ? io.stderr : io.stdout).writeLine(printableLine(line));
  if (values.json === true && values.out !== undefined)
    print(io, { file: values.out, words, left: left.length });
  else for (const { text: says } of words) say(says);
  for (const { call, why } of left) say(`left out: ${call.server}/${call.tool}: ${why}`);
  return left.length === 0 ? EXIT_OK : EXIT_FAILED;
}

/** Writes a policy where there is none. */
export function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (cause) {
    throw usageError(`'${path}' cannot be written: ${(cause as Error).message}`, cause);
  }
}

function tellMissing({ missing }: Recordings, io: CommandIo): void {
  if (missing > 0) io.stderr.writeLine(`${missing} calls were recorded without their arguments`);
}

/** Says what a policy decides about recorded calls. Exit code 1 when it would not allow one that was made. */
export async function runGateWhatIf(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = { ...RECORDING_FLAGS, ...TOOLS_FLAGS, json: { type: 'boolean' } } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const [path, ...sources] = positionals;
  if (path === undefined) throw usageError("'gate what-if' needs a POLICY and recorded calls");
  const { document } = readPolicyFile(path);
  const recordings = await readRecordings(sources, values, io);
  tellMissing(recordings, io);
  const decided = await decideRecorded(recordings.calls, document, await listReadTools(values, io.env));
  if (values.json === true) {
    for (const { call, decision } of decided) {
      const { server, tool, run = null, wasMade = true } = call;
      const { decision: now, reasonCode: reason_code, message, ruleIds: rule_ids } = decision;
      print(io, { server, tool, run, was_made: wasMade, decision: now, reason_code, message, rule_ids });
    }
  } else for (const line of listChanges(decided)) io.stdout.writeLine(printableLine(line));
  return decided.some(isStopped) ? EXIT_FAILED : EXIT_OK;
}

const isStopped = ({ call, decision }: DecidedCall): boolean =>
  call.wasMade !== false && decision.decision !== 'allow';

const VERDICTS = { allow: 'allowed', require_approval: 'asked about', deny: 'denied' } as const;

function listChanges(decided: readonly DecidedCall[]): readonly string[] {
  const counts = Object.entries(VERDICTS).map(
    ([kind, word]) => `${decided.filter(({ decision }) => decision.decision === kind).length} ${word}`,
  );
  const changes = new Map<string, number>();
  for (const { call, decision } of decided) {
    const isMade = call.wasMade !== false;
    if (isMade === (decision.decision === 'allow')) continue;
    const was = isMade ? 'was made' : 'was stopped';
    const line = `${call.server}/${call.tool} ${was}, would be ${VERDICTS[decision.decision]}: ${decision.message}`;
    changes.set(line, (changes.get(line) ?? 0) + 1);
  }
  return [
    `${decided.length} calls: ${counts.join(', ')}`,
    ...[...changes].map(([line, count]) => `${String(count).padStart(6)} ${line}`),
  ];
}
