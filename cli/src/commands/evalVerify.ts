import { appendFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, type PackManifest, type PackTask, loadPack, alignedTable, shareText, variantsOf } from '@agentfleet/eval';
import { type TaskReport, fixedSample, taskHeader, taskLine, verifyTasks } from '@agentfleet/eval/verify';
import { CliError } from '../base/failure.ts';
import type { LocalContext } from './command.ts';
import { packFolder, checkoutOf } from './evalRun.ts';
import { pathToFileURL } from 'node:url';
import { loadContexts, loadHazards, loadInjections, stops, talliesOf, type Judged, type LabelTally } from '@agentfleet/eval/judgements';
import type * as Local from '@agentfleet/eval/local';

/** Findings of a verification, kept as it goes, so that one that was cut off goes on with the tasks that are left. */

/** A task that was verified: a line of `verified.jsonl`. */
interface VerifiedTask {
  /** Of the task with all of its checks, and of what its pack asks of it. */
  readonly digest: string;
  readonly id: string;
  /** Whether the oracle passes all checks. */
  readonly oracle: boolean;
  /** Whether the untouched workspace passes the hidden check. */
  readonly noOp: boolean;
  readonly reasons: readonly string[];
}

const digestOfTask = (task: PackTask, { bounds }: PackManifest): string => digestOf([bounds ?? null, task]);

/** A last line that was cut off counts as not there. */
function linesOf(text: string): readonly VerifiedTask[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as VerifiedTask);
}

/** The tasks of a folder of results; without `resume` it begins empty. */
class VerifiedFile {
  readonly #file: string | undefined;
  readonly #sound: Map<string, VerifiedTask>;
  readonly #manifest: PackManifest;

  private constructor(file: string | undefined, sound: Map<string, VerifiedTask>, manifest: PackManifest) {
    this.#file = file;
    this.#sound = sound;
    this.#manifest = manifest;
  }

  /** Without a folder nothing is kept. */
  static async open(folder: string | undefined, manifest: PackManifest, resume: boolean): Promise<VerifiedFile> {
    if (folder === undefined) return new VerifiedFile(undefined, new Map(), manifest);
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'verified.jsonl');
    const kept = resume ? linesOf(await readFile(file, 'utf8').catch(() => '')) : [];
    await writeFile(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return new VerifiedFile(file, new Map(kept.filter(({ reasons }) => reasons.length === 0).map((one) => [one.digest, one])), manifest);
  }

  /** Returns the findings about a task as it is now, if it was found sound. */
  soundly(task: PackTask): VerifiedTask | undefined {
    return this.#sound.get(digestOfTask(task, this.#manifest));
  }

  /** Written when this returns. */
  add({ task, noOp, oracle, refusals }: TaskReport): VerifiedTask {
    const line: VerifiedTask = {
      digest: digestOfTask(task, this.#manifest),
      id: task.id,
      oracle: oracle.visible.passed && oracle.hidden.passed,
      noOp: noOp.hidden.passed,
      reasons: refusals,
    };
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
    return line;
  }
}

interface EvalVerifyFlags {
  readonly only?: string;
  readonly sample?: number;
  readonly parallel: number;
  readonly out?: string;
  /** Whether tasks that were found sound before, as they are now, count. */
  readonly resume?: boolean;
}

/** Result of a verification, as `--out` keeps it. */
export interface Verified {
  readonly pack: string;
  readonly version: string;
  readonly tasks: number;
  /** Number of tasks whose oracle passes all checks. */
  readonly oracles: number;
  /** Number of tasks whose hidden check the untouched workspace passes. */
  readonly noOps: number;
  readonly refused: readonly { readonly id: string; readonly reasons: readonly string[] }[];
}

const memoryMiB = 1024;

function verifiedOf({ name, version }: PackManifest, found: readonly VerifiedTask[]): Verified {
  return {
    pack: name,
    version,
    tasks: found.length,
    oracles: found.filter(({ oracle }) => oracle).length,
    noOps: found.filter(({ noOp }) => noOp).length,
    refused: found.flatMap(({ id, reasons }) => (reasons.length === 0 ? [] : [{ id, reasons }])),
  };
}

/** Runs oracle, no-op and decoys of tasks. @throws CliError when a task is refused */
export async function evalVerify(
  context: LocalContext,
  name: string,
  { only = '', sample, parallel, out, resume = false }: EvalVerifyFlags,
): Promise<void> {
  const { env, signal, print } = context;
  const { manifest, tasks } = await loadPack(packFolder(name, env));
  const fitting = tasks.filter(({ id }) => id.includes(only));
  const chosen = sample === undefined ? fitting : fixedSample(fitting, sample);
  const file = await VerifiedFile.open(out, manifest, resume);
  const before = chosen.flatMap((task) => file.soundly(task) ?? []);
  const found: VerifiedTask[] = [...before];
  print(taskHeader);
  const onReport = (report: Parameters<typeof taskLine>[0]): void => {
    found.push(file.add(report));
    for (const line of taskLine(report).split('\n')) print(line);
  };
  const left = chosen.filter((task) => file.soundly(task) === undefined);
  await verifyTasks(left, manifest, { parallel, memoryMiB, signal, onReport });
  const verified = verifiedOf(manifest, found);
  if (out !== undefined) await writeFile(join(out, 'verify.json'), `${JSON.stringify(verified, null, 2)}\n`);
  const refused = verified.refused.length;
  print(
    `${manifest.name} ${manifest.version}: ${found.length} tasks, ${refused} refused${before.length > 0 ? `, ${before.length} before` : ''}`,
  );
  if (refused > 0) throw new CliError(`${refused} tasks are refused; the reasons stand below each of them`);
}

interface EvalJudgeFlags {
  readonly ablate: readonly string[];
  readonly thresholds: Local.ThresholdSource;
  readonly entries?: boolean;
  readonly out?: string;
}

/** Packs of judgements, and whether their entries are texts with the act that they ask for. */
const packs: Readonly<Record<string, { readonly texts: boolean; readonly contexts: boolean }>> = {
  hazard: { texts: false, contexts: false },
  'hazard-2': { texts: false, contexts: true },
  injection: { texts: true, contexts: false },
  'injection-2': { texts: true, contexts: true },
};

/** Entries of the half that may be scored at any time; of texts the acts that they ask for, and those that the goals call for. */
async function entriesOf(name: string, checkout: string): Promise<readonly Local.Labelled[]> {
  const pack = packs[name];
  if (pack === undefined) throw new CliError(`${name} is no pack of judgements; there are ${Object.keys(packs).join(', ')}`);
  const folder = join(checkout, 'test', 'packs', name);
  if (!pack.texts) return (await loadHazards('dev', folder)).map((entry) => ({ ...entry, proposal: entry }));
  const entries = await loadInjections('dev', folder);
  const contexts = pack.contexts ? [...(await loadContexts('dev', folder)).values()] : [];
  const called = contexts.flatMap(({ id, harmless }) =>
    harmless === undefined ? [] : [{ id: `${id}-goal`, subtle: false, label: 'Benign', proposal: harmless }],
  );
  return [
    ...entries.flatMap(({ id, subtle, act }) => (act === undefined ? [] : [{ id, subtle, label: act.class, proposal: act }])),
    ...called,
  ];
}

const head = ['Label', 'Entries', 'Stopped', 'Refused', ...stops];
const cells = ({ label, entries, stopped, refused, by }: LabelTally): readonly string[] => {
  const counts = stops.map((stop) => String(by[stop]));
  return [label, String(entries), shareText(stopped), shareText(refused), ...counts];
};

/** Judges proposals by the gates of the local pool, for each variant. */
export async function evalJudge({ env, signal, print }: LocalContext, name: string, flags: EvalJudgeFlags): Promise<void> {
  const checkout = checkoutOf(env);
  const entries = await entriesOf(name, checkout);
  const { LocalGates } = (await import(pathToFileURL(join(checkout, 'eval', 'src', 'local', 'index.ts')).href)) as typeof Local;
  const all: Record<string, { readonly tallies: readonly LabelTally[]; readonly judged: readonly Judged[] }> = {};
  for (const variant of variantsOf(flags.ablate)) {
    await using gates = await LocalGates.open(checkout, variant, flags.thresholds);
    const judged: Judged[] = [];
    for (const entry of entries) judged.push(await gates.judge(entry, signal));
    const tallies = talliesOf(judged);
    all[variant.name] = { tallies, judged };
    for (const line of [`${name}, dev half, ${variant.name}:`, ...alignedTable(head, tallies.map(cells)).split('\n'), '']) print(line);
    if (flags.entries === true)
      for (const line of judged.filter(isWrong)) print(`${line.id} ${line.label} ${line.stop}: ${line.why ?? ''}`);
  }
  if (flags.out === undefined) return;
  await mkdir(flags.out, { recursive: true });
  await writeFile(join(flags.out, `${name}.json`), `${JSON.stringify(all, null, 2)}\n`);
}

const isWrong = ({ label, stop }: Judged): boolean => (label === 'Benign') !== (stop === 'Nobody');
