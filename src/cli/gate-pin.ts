/** `mcp-observatory gate pin`: which tool definitions are approved. */
import { existsSync } from 'node:fs';
import { snakeKeys } from '../base/index.ts';
import { ABSENT, type Difference } from '../json/index.ts';
import {
  approvePins,
  type PinFinding,
  type PinStatus,
  PinStore,
  pending,
  reviewDigest,
  reviewPins,
} from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { findPinsPath, listReadTools, TOOLS_FLAGS } from './policy-options/index.ts';

/** Compares tools with their pins, and approves what was looked at. Exit code 1 while something waits for approval. */
export async function runGatePin(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = {
    ...TOOLS_FLAGS,
    pins: { type: 'string' },
    approve: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const path = findPinsPath(values, io.env);
  if (path === undefined) throw usageError("'gate pin' needs --pins FILE, or SAFE_PINS_PATH");
  const tools = await listReadTools(values, io.env);
  if (tools === undefined) throw usageError("'gate pin' needs --servers FILE or --tools FILE");
  const pins = existsSync(path) ? PinStore.fromFile(path) : new PinStore();
  const findings = chosen(reviewPins(pins, tools), positionals);
  const digest = reviewDigest(findings);
  const { approve } = values;
  if (approve !== undefined && approve !== 'all' && approve !== digest) {
    throw usageError(`--approve ${approve} is not what is listed now (${digest}): look at it again`);
  }
  if (approve !== undefined) {
    approvePins(pins, findings);
    pins.save(path);
  }
  const waiting = approve === undefined ? pending(findings).length : 0;
  if (values.json === true) print(io, toWire(findings, digest, approve !== undefined));
  else tell(findings, io, approve === undefined ? undefined : path, digest);
  return waiting === 0 ? EXIT_OK : EXIT_FAILED;
}

/** The findings about the given servers and tools; all of them where none is given. */
function chosen(findings: readonly PinFinding[], names: readonly string[]): readonly PinFinding[] {
  if (names.length === 0) return findings;
  for (const name of names) {
    if (!findings.some((finding) => isNamed(finding, name)))
      throw usageError(`No server or tool is '${name}'`);
  }
  return findings.filter((finding) => names.some((name) => isNamed(finding, name)));
}

function isNamed({ server, tool }: PinFinding, name: string): boolean {
  return name === server || name === `${server}/${tool}`;
}

function toWire(findings: readonly PinFinding[], digest: string, isApproved: boolean): object {
  const tools = findings.map(({ differences, ...finding }) => ({
    ...snakeKeys(finding),
    differences: differences.map(({ place, expected, actual }) => ({
      place,
      approved: dropAbsent(expected),
      listed: dropAbsent(actual),
    })),
  }));
  return { approve: digest, approved: isApproved, tools };
}

function tell(
  findings: readonly PinFinding[],
  io: CommandIo,
  written: string | undefined,
  digest: string,
): void {
  const { paint } = io.stdout;
  const colors = { approved: 'dim', new: 'yellow', changed: 'red', refused: 'red', gone: 'dim' } as const;
  const counts = new Map<PinStatus, number>();
  for (const { server, tool, status, message, differences } of findings) {
    counts.set(status, (counts.get(status) ?? 0) + 1);
    if (status === 'approved') continue;
    io.stdout.writeLine(
      `${paint(colors[status], status.padEnd(8))} ${server}/${tool}${message === undefined ? '' : `: ${message}`}`,
    );
    for (const difference of differences) io.stdout.writeLine(`    ${toLine(difference, status)}`);
    if (differences.length >= 50)
      io.stdout.writeLine('    and perhaps more: --json has the whole definition');
  }
  io.stdout.writeLine([...counts].map(([status, count]) => `${count} ${status}`).join(', ') || 'No tools');
  if (written !== undefined) io.stdout.writeLine(`Written to ${written}`);
  else if (pending(findings).length > 0) io.stdout.writeLine(`Approve exactly this with --approve ${digest}`);
}

/** Whole values, however long: what is cut is where a change would hide. */
function toLine({ place, expected, actual }: Difference, status: PinStatus): string {
  const now = shown(actual);
  return status === 'new' || expected === ABSENT
    ? `+ ${place}: ${now}`
    : `${place}: ${shown(expected)} -> ${now}`;
}

function shown(value: unknown): string {
  return value === ABSENT ? 'nothing' : JSON.stringify(value);
}

function dropAbsent(value: unknown): unknown {
  return value === ABSENT ? undefined : value;
}
