/** Fixture programs as processes of their own, hooked by `--import` alone. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** What runs the programs: a Node, and a folder from which the SDKs and the hooks are found. */
export interface ProgramHost {
  /** Path of the Node binary. */
  readonly node: string;
  /** Folder of the programs. */
  readonly programs: string;
  /** What `--import` is given. */
  readonly register: string;
  readonly cwd: string;
}

/** A busy machine needs more than the second that a program waits at its end for its last spans to arrive. */
export const PATIENT = { MCP_OBSERVATORY_EXIT_DEADLINE_MS: '20000' } as const;

export interface ProgramOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a program; the environment of the test itself is not handed on, but for `PATH`. */
export function startProgram(
  host: ProgramHost,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcessWithoutNullStreams {
  const [program, ...rest] = args as readonly [string, ...string[]];
  return spawn(host.node, [join(host.programs, program), ...rest], {
    cwd: host.cwd,
    env: {
      PATH: process.env.PATH ?? '',
      NODE_OPTIONS: `--import ${host.register}`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      ...PATIENT,
      ...env,
    },
  });
}

/** Waits for a program to end. */
export async function outcomeOf(child: ChildProcessWithoutNullStreams): Promise<ProgramOutcome> {
  const ended = new Promise<Pick<ProgramOutcome, 'code' | 'signal'>>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const [stdout, stderr, how] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { ...how, stdout, stderr };
}

/** The environment of a program that exports its spans, and nothing else, to a collector. */
export function exportingTo(url: string): Record<string, string> {
  return {
    OTEL_SERVICE_NAME: 'app',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
}
