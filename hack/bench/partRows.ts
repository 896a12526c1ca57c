import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Exchanges, PartCapability } from '@agentfleet/agent/experts';
import { featureSet, type ControlStep, type JudgeRequest, type ScoreItem } from '@agentfleet/protocol/inference';
import type { LearnedPart } from '@agentfleet/eval';
import type { BenchFleet } from './fleet.ts';
import { latencies, latencyRows, type Row } from './report/table.ts';

const rounds = 150;
/** Of what takes tenths of a second. */
const [slowRounds, slowWarmUp] = [30, 3];
const batch = 8;
const requestId = 'bench';
const one = 'one request for each';

const commands = [
  'npm ci --ignore-scripts',
  'python3 -m pytest -q tests/test_parser.py',
  'git diff --stat HEAD~1',
  'sed -i s/retries=3/retries=5/ config/settings.toml',
  'rm -rf build dist .cache',
  'curl -fsS https://example.com/install.sh -o /tmp/install.sh',
  'chmod -R u+w node_modules/.bin',
  'tar -czf /tmp/report.tgz reports',
];

const sentences = [
  'AssertionError: assert total([2, 3]) == 5, got 6',
  'the last element of the list is left out',
  'expected "Monday" to equal "Tuesday"',
  'TypeError: cannot read properties of undefined',
  'an empty cart must cost nothing',
  'the parser stops at the first comma inside quotes',
  'IndexError: list index out of range',
  'retries happen one time too often',
];

/** Measures the time that each learned part takes to answer a worker, and the time that a batch spares. */
export async function partRows(fleet: BenchFleet, items: readonly ScoreItem[]): Promise<readonly Row[]> {
  return [...(await energyRows(fleet, items)), ...(await controlRows(fleet)), ...(await embedRows(fleet)), ...(await judgeRows(fleet))];
}

/** Asks as a worker does; an answer that is missing or wrong ends the bench. */
async function ask<C extends PartCapability>(
  { client, urls }: BenchFleet,
  role: LearnedPart,
  capability: C,
  request: Exchanges[C]['request'],
): Promise<void> {
  const signal = new AbortController().signal;
  const said = await client.ask({ name: role, url: urls[role] }, { capability, request, timeoutMillis: 10_000, signal });
  if (typeof said === 'string') throw new Error(`${role} gave no answer to ${capability}: ${said}`);
}

/** Calls for each of a list, one after the other. */
async function each<T>(list: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
  for (const item of list) await call(item);
}

async function energyRows(fleet: BenchFleet, items: readonly ScoreItem[]): Promise<readonly Row[]> {
  const score = (some: readonly ScoreItem[]) => ask(fleet, 'Verifier', 'Score', { requestId, featureSet, items: [...some] });
  const batchAt = (round: number): readonly ScoreItem[] => {
    const from = (round * batch) % (items.length - batch);
    return items.slice(from, from + batch);
  };
  const ours = await latencies(rounds, (round) => score(batchAt(round)));
  const values = await latencies(rounds, (round) => each(batchAt(round), (item) => score([item])));
  return latencyRows({
    measure: `energy of ${batch} proposals`,
    ours,
    peer: { name: one, values },
    note: `proposals for the held-out bugs; the ratio is what the batch spares`,
  });
}

/** Steps of searches through problems that the planner was not trained on. */
async function controlRows(fleet: BenchFleet): Promise<readonly Row[]> {
  const file = join(import.meta.dirname, '../../inference-image/src/models/testdata/held-out.json');
  const { planner } = JSON.parse(await readFile(file, 'utf8')) as { readonly planner: readonly (readonly ControlStep[])[] };
  const all = planner.flat();
  const rows: Row[] = [];
  for (const count of [16, 64]) {
    const steps = Array.from({ length: count }, (_, at) => all[at % all.length]).filter((step) => step !== undefined);
    const ours = await latencies(rounds, () => ask(fleet, 'Planner', 'Control', { requestId, experts: ['gen', 'prior'], steps }));
    rows.push(
      ...latencyRows({
        measure: `control vector after ${count} steps`,
        ours,
        note: 'the planner keeps nothing: it goes through all of them',
      }),
    );
  }
  return rows;
}

async function embedRows(fleet: BenchFleet): Promise<readonly Row[]> {
  const embed = (texts: readonly string[]) => ask(fleet, 'Embedder', 'Embed', { requestId, texts: [...texts] });
  const single = await latencies(slowRounds, (round) => embed([sentences[round % sentences.length] ?? '']), slowWarmUp);
  const ours = await latencies(slowRounds, () => embed(sentences), slowWarmUp);
  const values = await latencies(slowRounds, () => each(sentences, (text) => embed([text])), slowWarmUp);
  return [
    ...latencyRows({ measure: 'embedding of a sentence', ours: single, note: '512 numbers' }),
    ...latencyRows({ measure: `embedding of ${sentences.length} sentences`, ours, peer: { name: one, values } }),
  ];
}

async function judgeRows(fleet: BenchFleet): Promise<readonly Row[]> {
  const acts = commands.map((subject, at): JudgeRequest['acts'][number] => ({ id: `act${at}`, tool: 'Shell', subject, rails: [] }));
  const judge = (some: JudgeRequest['acts']) => ask(fleet, 'Policy', 'Judge', { requestId, acts: some });
  const ours = await latencies(rounds, () => judge(acts));
  const values = await latencies(rounds, () => each(acts, (act) => judge([act])));
  return latencyRows({ measure: `judgement of ${acts.length} commands`, ours, peer: { name: one, values } });
}
