// `npm test`: check, build, unit and sandbox stages, each with its budget; then takes down what it started.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { down, status } from '../cluster/index.ts';
import { add, countGo, noTests, readVitest, type Counts } from './counts.ts';
import { runStage, type Stage, type StageOutcome } from './stage.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const output = join(root, 'test', '.output');
const full = process.argv.includes('--full');
const only = process.argv.filter((word) => word.startsWith('--stage=')).map((word) => word.slice('--stage='.length));

interface Budget {
  readonly stages: Readonly<Record<string, { readonly minutes: number; readonly warmMinutes?: number }>>;
}

function stages(budget: Budget): readonly Stage[] {
  const minutes = (name: string): number => (budget.stages[name]?.minutes ?? 5) * (full ? 10 : 1);
  const env = full ? { AGENTFLEET_FULL: '1' } : {};
  const vitest = (project: string): Stage['argv'] => [
    'vitest',
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${join(output, `${project}.json`)}`,
  ];
  const node = process.execPath;
  return [
    { name: 'check', argv: [node, 'hack/check.ts'], budgetMinutes: minutes('check') },
    { name: 'build', argv: [node, 'hack/test/build.ts'], budgetMinutes: minutes('build') },
    { name: 'unit', argv: vitest('unit'), budgetMinutes: minutes('unit'), env },
    { name: 'unit (go)', argv: [node, 'hack/test/goTest.ts', join(output, 'go.jsonl')], budgetMinutes: minutes('unit'), env },
    { name: 'sandbox', argv: vitest('sandbox'), budgetMinutes: minutes('sandbox'), env },
  ];
}

async function counts(outcomes: readonly StageOutcome[]): Promise<Counts> {
  const ran = (name: string): boolean => outcomes.some((outcome) => outcome.name === name);
  let total = noTests;
  for (const project of ['unit', 'sandbox']) if (ran(project)) total = add(total, await readVitest(join(output, `${project}.json`)));
  if (ran('unit (go)'))
    total = add(total, countGo(await readFile(join(output, 'go.jsonl'), 'utf8').catch(() => '{"Action":"build-fail"}')));
  // A stage that failed without a failing test (check, build, a crash) must show in the sum as well.
  const silent = outcomes.some((outcome) => !outcome.passed) && total.failed === 0 ? 1 : 0;
  return add(total, { ...noTests, failed: silent });
}

function report(outcomes: readonly StageOutcome[]): void {
  console.log('\nstage            seconds   budget (min)');
  for (const { name, passed, seconds, budgetMinutes, hung } of outcomes) {
    const over = seconds > budgetMinutes * 60 ? '  OVER BUDGET' : '';
    console.log(
      `${passed ? 'ok  ' : 'FAIL'} ${name.padEnd(12)}${seconds.toFixed(1).padStart(7)}   ${budgetMinutes}${over}${hung ? '  HUNG' : ''}`,
    );
  }
}

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
const budget = JSON.parse(await readFile(join(root, 'test', 'budget.json'), 'utf8')) as Budget;
const ranBefore = (await status()).state !== 'down';
const outcomes: StageOutcome[] = [];
for (const stage of stages(budget)) {
  if (only.length > 0 && !only.includes(stage.name)) continue;
  console.log(`\n── ${stage.name} ──`);
  const outcome = await runStage(stage, root);
  outcomes.push(outcome);
  if (!outcome.passed && stage.name === 'build') break; // nothing after it can run
}
if (!ranBefore) {
  console.log('\n── down ──');
  const started = performance.now();
  const left = await down().then(
    () => undefined,
    (error: Error) => error,
  );
  if (left !== undefined) console.error(left.message);
  outcomes.push({ name: 'down', passed: left === undefined, seconds: (performance.now() - started) / 1000, budgetMinutes: 1, hung: false });
}
report(outcomes);
const total = await counts(outcomes);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = outcomes.every((outcome) => outcome.passed) && total.failed === 0 && total.passed > 0 ? 0 : 1;
