// `npm run check`: types, lint with import directions, format, spelling, Go vet, and generated files.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { drift } from './generate/index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const runner = `${root}sandbox-image/runner`;

const steps: readonly {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}[] = [
  { name: 'types', argv: ['tsc'], cwd: root },
  { name: 'types of the page', argv: ['tsc', '--project', 'dashboard/client'], cwd: root },
  { name: 'lint', argv: ['oxlint', '--type-aware', '--deny-warnings'], cwd: root },
  { name: 'format', argv: ['prettier', '--check', '--cache', '--cache-strategy=content', '--log-level=warn', '.'], cwd: root },
  // Words of the project: hack/spelling/words.txt.
  {
    name: 'spelling',
    argv: ['cspell', 'lint', '--no-progress', '--no-summary', '--config=hack/spelling/cspell.json', '--root=.'],
    cwd: root,
  },
  { name: 'go vet', argv: ['go', 'vet', './...'], cwd: runner },
  // Images are built for the machine's own architecture; the runner must compile for the other one too.
  { name: 'go vet for arm64', argv: ['go', 'vet', './...'], cwd: runner, env: { GOARCH: 'arm64', CGO_ENABLED: '0' } },
];

/** Runs one step; its output is shown only when it fails. */
async function runStep({ name, argv, cwd, env = {} }: (typeof steps)[number]): Promise<boolean> {
  const [command, ...args] = argv;
  const result = await execa(command, args, { cwd, env, all: true, reject: false, localDir: root, preferLocal: true });
  const passed = result.exitCode === 0;
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${name} (${(result.durationMs / 1000).toFixed(1)} s)`);
  if (!passed) console.log(result.all ?? result.message);
  return passed;
}

async function gofmt(): Promise<boolean> {
  const { stdout } = await execa('gofmt', ['-l', '.'], { cwd: runner });
  console.log(stdout === '' ? 'ok   gofmt' : `FAIL gofmt; run \`gofmt -w\` on:\n${stdout}`);
  return stdout === '';
}

async function generated(): Promise<boolean> {
  const stale = await drift(root);
  console.log(stale.length === 0 ? 'ok   generated files' : `FAIL generated files; run \`npm run generate\` for: ${stale.join(', ')}`);
  return stale.length === 0;
}

if (!existsSync(runner)) throw new Error(`no runner sources in ${runner}`);
const outcomes = [...(await Promise.all(steps.map(runStep))), await gofmt(), await generated()];
const failed = outcomes.filter((passed) => !passed).length;
console.log(`${outcomes.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
