/** Judges in the cluster: a second AgentTask, which nobody works on, lays out what was made and runs the hidden check in a fresh sandbox. */
import type { AgentTask } from '@agentfleet/protocol/api';
import { EvalError } from '../failure.ts';
import { toAgentTask, type PackTask } from '../format/index.ts';
import { digestOf } from '../run/variant.ts';
import { AgentTasks, type ClusterPlace } from './tasks.ts';

/** Of one argument of a set-up step, and how many of them; see `spec.setup` of an AgentTask. */
const chunk = 8000;
const mostChunks = 60;
/** Enough for set-up and one judgement of the check, and not for a repair: whoever proposes must not pass it instead. */
const bounds = { toolCalls: 12, wallSeconds: 600 } as const;

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
/** A command that gets a content on its standard input; `then` follows it on its line. */
const decoded = (content: string, then: string): string => `base64 -d <<'END' ${then}\n${Buffer.from(content).toString('base64')}\nEND\n`;

/** A shell script that applies a patch and lays out hidden files. */
function layingOut({ hidden }: Pick<PackTask, 'hidden'>, patch: string): string {
  const files = Object.entries(hidden.files).map(([path, content]) => {
    const folder = path.includes('/') ? `mkdir -p ${quoted(path.slice(0, path.lastIndexOf('/')))}\n` : '';
    return `${folder}${decoded(content, `> ${quoted(path)}`)}`;
  });
  return `${patch.trim() === '' ? '' : decoded(patch, '| git apply --whitespace=nowarn -p1 -')}${files.join('')}`;
}

/** The AgentTask that judges a patch: the set-up of the task, the patch, the hidden files, and the hidden check alone. */
export function judgingTask(task: PackTask, patch: string, place: Pick<ClusterPlace, 'namespace' | 'pool'>): AgentTask {
  if (task.hidden.tests !== undefined) throw new EvalError(`${task.id} is judged by its single tests; judge it in a local sandbox`);
  const script = Buffer.from(layingOut(task, patch)).toString('base64');
  const chunks = script.match(new RegExp(`.{1,${chunk}}`, 'g')) ?? [];
  if (chunks.length > mostChunks)
    throw new EvalError(`the patch and hidden check of ${task.id} are too large for an AgentTask; judge it in a local sandbox`);
  const suffix = `j${digestOf([patch, task.hidden]).slice('sha256:'.length, 'sha256:'.length + 8)}`;
  const manifest = toAgentTask(task, { ...place, suffix, budget: { ...bounds } as AgentTask['spec']['budget'] });
  const { command, timeoutSeconds } = task.hidden;
  const lay = { name: 'lay-out', command: ['sh', '-euc', 'printf %s "$@" | base64 -d | sh -eu', 'sh', ...chunks], timeoutSeconds: 120 };
  const spec = {
    ...manifest.spec,
    goal: 'Hold the hidden check to what was made; there is nothing to be done.',
    setup: [...(manifest.spec.setup ?? []), lay],
    checks: [{ name: 'hidden', command, timeoutSeconds, format: 'Exit', expect: 'Pass' }],
    protect: { paths: [...manifest.spec.protect.paths, ...Object.keys(task.hidden.files)] },
  };
  return { ...manifest, spec } as unknown as AgentTask;
}

/** A judge of patches in the pool of a cluster. The check has passed only when it holds before anybody did anything. */
export function clusterJudge(place: ClusterPlace): (task: PackTask, patch: string, signal: AbortSignal) => Promise<boolean> {
  const tasks = new AgentTasks(place);
  return async (task, patch, signal) => {
    const name = await tasks.create(judgingTask(task, patch, place), signal);
    const { status } = await tasks.ended(name, signal);
    await tasks.remove(name, signal);
    const { outcome } = status?.run ?? {};
    const failed =
      outcome === undefined
        ? `it ended as ${status?.phase ?? 'nothing'} without an outcome`
        : `${outcome.reason}: ${outcome.message ?? ''}`;
    if (outcome === undefined || outcome.class === 'Infrastructure' || outcome.class === 'InvalidInput' || outcome.reason === 'SetupFailed')
      throw new EvalError(`${task.id} could not be judged by AgentTask ${name}: ${failed}`);
    return outcome.reason === 'AlreadyHolds';
  };
}
