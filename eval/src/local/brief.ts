import { ajvOptions, validators, type AgentTask, type AgentTaskSpec } from '@agentfleet/protocol/api';
import { ablatedBrief, ablations, type PoolBrief } from '@agentfleet/protocol/pool';
import { Ajv } from 'ajv';
import { EvalError } from '../failure.ts';
import { toAgentTask, type PackTask } from '../format/index.ts';
import type { AttemptBudget } from '../run/pool.ts';
import { compute, type LearnedPart, type Variant } from '../run/variant.ts';
import type { PartServers } from './servers.ts';

const namespace = 'local';

/** A verifier of a machine that others use too answers late; a pool would wait 800 ms. */
const verifierMillis = 20_000;

async function expert(role: Exclude<LearnedPart, 'Verifier'>, servers: PartServers): Promise<PoolBrief['experts'][number]> {
  return { name: role.toLowerCase(), role, engine: 'Builtin', domains: ['*'], url: await servers.url(role) };
}

/** What an operator would write for the workers of a pool of this variant. @param model in place of the search for edits */
export async function briefOf(
  { parts, ablations: asked }: Variant,
  servers: PartServers,
  storage: PoolBrief['storage'],
  model?: PoolBrief['experts'][number],
): Promise<PoolBrief> {
  const experts = parts.filter((part) => part !== 'Verifier');
  const brief: PoolBrief = {
    format: 'agentfleet.dev/pool/v1',
    pool: { name: 'local', namespace },
    namespaces: [namespace],
    experts: [
      model ?? { name: 'search', role: 'Generalist', engine: 'Synth', domains: ['*'], url: await servers.url('Synth') },
      ...(await Promise.all(experts.map((part) => expert(part, servers)))),
    ],
    absent: [],
    verifier: parts.includes('Verifier') ? verifierAt(await servers.url('Verifier')) : null,
    profiles: { default: compute },
    egress: { registries: [], environment: {} },
    credentials: [],
    storage,
    minIsolation: 'Container',
    allowUnenforcedNetwork: true,
    maxBudget: {},
    ablations: Object.keys(ablations),
  };
  return ablatedBrief(brief, asked);
}

function verifierAt(url: string): NonNullable<PoolBrief['verifier']> {
  const thresholds = { vetoBelowProbability: 0.15, warnBelowProbability: 0.35 };
  return { name: 'verifier', url, batchMax: 16, timeoutMillis: verifierMillis, whenUnavailable: 'FailClosed', ...thresholds };
}

/** The task as an API server would return it: with defaults. @throws EvalError when the API would refuse it */
export function agentTaskOf(task: PackTask, { ablations: asked, snapshots }: Variant, bounds: AttemptBudget): AgentTask {
  const budget = { ...bounds } as AgentTaskSpec['budget'];
  const manifest = toAgentTask(task, { namespace, pool: { name: 'local', namespace }, budget, ablations: asked, snapshots });
  const object = structuredClone(manifest) as unknown as AgentTask;
  const fill = validators(new Ajv(ajvOptions)).AgentTask;
  if (!fill(object)) throw new EvalError(`${task.id} makes no AgentTask: ${JSON.stringify(fill.errors)}; correct the task`);
  return { ...object, metadata: { ...object.metadata, uid: `local-${object.metadata.name}` } };
}
