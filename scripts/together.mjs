/**
 * Runs npm scripts at the same time, on as many processors as there are; prints what each said when it has ended, and
 * exits with 1 when one failed.
 *
 *   node scripts/together.mjs SCRIPT...
 */
import { spawn } from 'node:child_process';

const codes = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = Math.max(...codes);

function run(script) {
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      process.stdout.write(said);
      if (code !== 0) process.stdout.write(`npm run ${script} failed\n`);
      resolve(code === 0 ? 0 : 1);
    });
  });
}
