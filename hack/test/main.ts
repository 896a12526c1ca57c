// `npm test`: check, build and all test stages, each with its budget; then stops what it started.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { down, status } from '../cluster/index.ts';
import { add, countGo, noTests, readVitest, type Counts } from './counts.ts';
import { describeEnd, readReport, runStage, type Stage, type StageOutcome } from './report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const output = join(root, 'test', '.output');
const full = process.argv.includes('--full');
const only = process.argv.filter((word) => word.startsWith('--stage=')).map((word) => word.slice('--stage='.length));

interface Budget {
  readonly stages: Readonly<Record<string, { readonly minutes: number; readonly warmMinutes?: number }>>;
}

function stages(budget: Budget): readonly Stage[] {
  const minutes = (name: string): number => (budget.stages[name]?.minutes ?? 5) * (full ? 10 : 1);
  const env = full ? { AGENTFLEET_FULL: '1', SNAPSHOT_RUNS: '1000', DURABLE_RUNS: '200' } : {};
  const vitest = (project: string): Stage['argv'] => [
    'vitest',
    'run',
    '--project',
    project,
    // A failing test is tried once more; one that passes then is named at the end, and many of them fail the run.
    '--retry=1',
    '--reporter=default',
    '--reporter=./hack/test/stageReporter.ts',
    '--reporter=json',
    `--outputFile.json=${join(output, `${project}.json`)}`,
  ];
  const node = process.execPath;
  return [
    { name: 'check', argv: [node, 'hack/check.ts'], budgetMinutes: minutes('check') },
    { name: 'packages', argv: [node, 'hack/test/packages.ts'], budgetMinutes: minutes('packages') },
    { name: 'unit', argv: vitest('unit'), budgetMinutes: minutes('unit'), env },
    { name: 'unit (go)', argv: [node, 'hack/test/goTest.ts', join(output, 'go.jsonl')], budgetMinutes: minutes('unit'), env },
    // After the unit tests: a cluster at rest takes a third of a core.
    { name: 'build', argv: [node, 'hack/test/build.ts'], budgetMinutes: minutes('build') },
    { name: 'contract', argv: vitest('contract'), budgetMinutes: minutes('contract'), env },
    { name: 'ui', argv: vitest('ui'), budgetMinutes: minutes('ui'), env },
    { name: 'sandbox', argv: vitest('sandbox'), budgetMinutes: minutes('sandbox'), env },
    { name: 'e2e', argv: vitest('e2e'), budgetMinutes: minutes('e2e'), env },
    // Compares requests of both stages: one of them alone does not need all grants.
    { name: 'rbac', argv: [node, 'hack/rbac/main.ts', 'contract', 'e2e'], budgetMinutes: minutes('rbac') },
    ...(full ? [...releaseStages(node, vitest('release'), env), ...longStages(node)] : []),
  ];
}

/** A release on a cluster without the fleet; its steps depend on each other, so none is retried. */
function releaseStages(node: string, argv: Stage['argv'], env: Readonly<Record<string, string>>): readonly Stage[] {
  const [command, ...args] = argv;
  const once: Stage['argv'] = [command, ...args.filter((word) => word !== '--retry=1')];
  return [
    { name: 'fresh cluster', argv: [node, 'hack/cluster/main.ts', 'down'], budgetMinutes: 1 },
    { name: 'release', argv: once, budgetMinutes: 20, env },
  ];
}

/** Returns the stages that only `npm run test:full` runs: many tasks while parts die, planted bugs, and all figures. */
function longStages(node: string): readonly Stage[] {
  const day = new Date().toISOString().slice(0, 10);
  const soak = ['test/soak/main.ts', '--tasks', '5000', '--write', `test/full/soak-${day}.md`];
  return [
    { name: 'soak', argv: [node, ...soak], budgetMinutes: 240 },
    { name: 'mutants', argv: [node, 'hack/mutants/main.ts', '--write'], budgetMinutes: 30 },
    { name: 'bench', argv: [node, 'hack/bench/main.ts', '--write', join(output, 'bench.md')], budgetMinutes: 15 },
  ];
}

async function counts(outcomes: readonly StageOutcome[]): Promise<Counts> {
  const ran = (name: string): boolean => outcomes.some((outcome) => outcome.name === name);
  let total = noTests;
  for (const project of ['unit', 'contract', 'ui', 'sandbox', 'e2e', 'release'])
    if (ran(project)) total = add(total, await readVitest(join(output, `${project}.json`)));
  if (ran('unit (go)'))
    total = add(total, countGo(await readFile(join(output, 'go.jsonl'), 'utf8').catch(() => '{"Action":"build-fail"}')));
  // A stage that failed without a failing test (check, build, a crash) must show in the sum as well.
  const silent = outcomes.some((outcome) => !outcome.passed) && total.failed === 0 ? 1 : 0;
  return add(total, { ...noTests, failed: silent });
}

function stageTable(outcomes: readonly StageOutcome[]): string {
  const rows = outcomes.map(({ name, passed, seconds, budgetMinutes, hung }) => {
    const over = seconds > budgetMinutes * 60 ? ' over budget' : '';
    return `| ${name} | ${passed ? 'passed' : 'FAILED'}${over}${hung ? ' hung' : ''} | ${seconds.toFixed(1)} | ${budgetMinutes} |`;
  });
  return ['| Stage | Result | Seconds | Budget (min) |', '|---|---|---|---|', ...rows].join('\n');
}

/** Returns whether a local cluster runs. A dead one (the machine was restarted) is removed. */
async function runsAlready(): Promise<boolean> {
  const { state, daemons } = await status();
  if (state === 'down') return false;
  if (daemons.some((daemon) => daemon.up)) return true;
  await down();
  return false;
}

/** The dated result of the long sizes, to be committed. */
async function writeFullResult(summary: string): Promise<void> {
  const bench = await readFile(join(output, 'bench.md'), 'utf8').catch(() => 'No figures: the bench stage did not end.\n');
  const day = new Date().toISOString().slice(0, 10);
  const path = join(root, 'test', 'full', `${day}.md`);
  await mkdir(join(root, 'test', 'full'), { recursive: true });
  await writeFile(path, `# npm run test:full, ${day}\n\n${summary}\n\n${bench.replace(/^# /, '## ')}`);
  console.log(`wrote ${path}`);
}

function reportOf(stage: string): string {
  return join(output, `${stage.replace(/[^a-z0-9]+/g, '-')}.report.json`);
}

await rm(output, { recursive: true, force: true });
await mkdir(output, { recursive: true });
const budget = JSON.parse(await readFile(join(root, 'test', 'budget.json'), 'utf8')) as Budget;
const ranBefore = await runsAlready();
const outcomes: StageOutcome[] = [];
for (const stage of stages(budget)) {
  if (only.length > 0 && !only.includes(stage.name)) continue;
  console.log(`\n── ${stage.name} ──`);
  const env = { ...stage.env, AGENTFLEET_STAGE_REPORT: reportOf(stage.name) };
  const outcome = await runStage({ ...stage, env }, root);
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
const total = await counts(outcomes);
const end = describeEnd(
  await Promise.all(outcomes.map(async ({ name, passed }) => ({ name, passed, report: await readReport(reportOf(name)) }))),
);
const table = stageTable(outcomes);
if (full) await writeFullResult(`${table}\n\n${total.passed} tests passed, ${total.failed} failed, ${total.skipped} skipped.`);
console.log(`\n${table}\n`);
for (const line of end.lines) console.log(line);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = outcomes.every((outcome) => outcome.passed) && total.failed === 0 && total.passed > 0 && !end.tooMany ? 0 : 1;
