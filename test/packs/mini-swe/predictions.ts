/** Solutions in the words of SWE-bench: a line of `predictions.jsonl` for each, and what grading it says. */
import { parseResults } from '@agentfleet/agent/checks';
import { PackError, patchChanges, type Changes, type PackTask, type Tree } from '@agentfleet/eval/format';
import { judge, type JudgeOptions } from '@agentfleet/eval/verify';
import { createTwoFilesPatch } from 'diff';

/** A line of `predictions.jsonl`, with these members and no others. */
interface Prediction {
  readonly instance_id: string;
  readonly model_name_or_path: string;
  /** Null or empty where nothing was changed. */
  readonly model_patch: string | null;
}

interface Outcomes {
  readonly success: readonly string[];
  readonly failure: readonly string[];
}

/** What `report.json` has under the id of an instance. */
interface Grade {
  readonly patch_is_None: boolean;
  readonly patch_exists: boolean;
  readonly patch_successfully_applied: boolean;
  readonly resolved: boolean;
  readonly tests_status?: { readonly FAIL_TO_PASS: Outcomes; readonly PASS_TO_PASS: Outcomes };
}

/** The id of the instance that a task was made of. */
export const instanceOf = ({ id, pack }: Pick<PackTask, 'id' | 'pack'>): string => id.slice(pack.length + 1);

function filePatch(path: string, before: string | undefined, after: string | null): string {
  const [from, to] = [before === undefined ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`];
  const body = createTwoFilesPatch(from, to, before ?? '', after ?? '');
  const mode = before === undefined ? ['new file mode 100644'] : after === null ? ['deleted file mode 100644'] : [];
  return [`diff --git a/${path} b/${path}`, ...mode, body.slice(body.indexOf('--- '))].join('\n');
}

/** A unified diff that `git apply` takes; files that stay as they are have no part in it. */
export function patchOf(files: Tree, changes: Changes): string {
  return Object.entries(changes)
    .filter(([path, after]) => (after ?? undefined) !== files[path])
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, after]) => filePatch(path, files[path], after))
    .join('');
}

/** What somebody made of a task, as a prediction of a model. */
export function toPrediction(task: PackTask, changes: Changes, model: string): Prediction {
  return { instance_id: instanceOf(task), model_name_or_path: model, model_patch: patchOf(task.files, changes) };
}

/** The content of `predictions.jsonl`. */
export const toJsonLines = (predictions: readonly Prediction[]): string =>
  predictions.map((prediction) => `${JSON.stringify(prediction)}\n`).join('');

function readPrediction(entry: unknown, at: number): Prediction {
  const { instance_id: id, model_name_or_path: model, model_patch: patch } = (entry ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || typeof model !== 'string' || (typeof patch !== 'string' && patch !== null && patch !== undefined))
    throw new PackError(`prediction ${at + 1} lacks instance_id, model_name_or_path or a model_patch of text; add it`);
  return { instance_id: id, model_name_or_path: model, model_patch: patch ?? null };
}

/** Predictions as JSON lines or as one JSON list. @throws PackError naming the first that is none */
export function readPredictions(text: string): Prediction[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const entries = text.trimStart().startsWith('[') ? (JSON.parse(text) as unknown[]) : lines.map((line) => JSON.parse(line) as unknown);
  return entries.map(readPrediction);
}

function outcomes(ids: readonly string[], fine: (id: string) => boolean): Outcomes {
  return { success: ids.filter(fine), failure: ids.filter((id) => !fine(id)) };
}

function applied({ files }: PackTask, patch: string): Changes | undefined {
  try {
    return patchChanges(files, patch);
  } catch (error) {
    if (error instanceof PackError) return undefined;
    throw error;
  }
}

/**
 * Grades a prediction: resolved if every test of FAIL_TO_PASS passes and none of PASS_TO_PASS is lost. A skipped test counts as kept,
 * never as fixed.
 */
export async function gradePrediction(task: PackTask, { model_patch: patch }: Prediction, options: JudgeOptions): Promise<Grade> {
  const { tests } = task.hidden;
  if (tests === undefined) throw new PackError(`task ${task.id} names no tests; grade instances only`);
  const said = { patch_is_None: patch === null, patch_exists: patch !== null && patch.trim() !== '' };
  const files = patch !== null && said.patch_exists ? applied(task, patch) : undefined;
  if (files === undefined) return { ...said, patch_successfully_applied: false, resolved: false };
  const { hidden } = await judge(task, { files }, options);
  const ended = hidden.reason === 'Exit';
  const parsed = parseResults('Auto', { exitCode: hidden.status, stdout: hidden.output, stderr: '' });
  const found = new Map(parsed.tests.map(({ id, outcome }) => [id, outcome]));
  const fixed = outcomes(tests.failing, (id) => ended && found.get(id) === 'Passed');
  const kept = outcomes(tests.passing, (id) => ended && ['Passed', 'Skipped'].includes(found.get(id) ?? ''));
  const resolved = fixed.failure.length === 0 && kept.failure.length === 0;
  return { ...said, patch_successfully_applied: true, resolved, tests_status: { FAIL_TO_PASS: fixed, PASS_TO_PASS: kept } };
}
