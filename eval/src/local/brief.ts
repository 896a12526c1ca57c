import { ajvOptions, validators, type AgentTask, type AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { Ajv } from 'ajv';
import { EvalError } from '../failure.ts';
import { toAgentTask, type PackTask } from '../format/index.ts';
import type { AttemptBudget } from '../run/pool.ts';
import type { LearnedPart, Variant } from '../run/variant.ts';
import type { PartServers } from './servers.ts';

const namespace = 'local';

/** A verifier of a machine that others use too answers late; a pool would wait 800 ms. */
const verifierMillis = 20_000;

async function expert(role: Exclude<LearnedPart, 'Verifier'>, servers: PartServers): Promise<PoolBrief['experts'][number]> {
  return { name: role.toLowerCase(), role, engine: 'Builtin', domains: ['*'], url: await servers.url(role) };
}

/** What an operator would write for the workers of a pool of this variant. */
export async function briefOf({ parts, compute }: Variant, servers: PartServers, storage: PoolBrief['storage']): Promise<PoolBrief> {
  const experts = parts.filter((part) => part !== 'Verifier');
  return {
    format: 'agentfleet.dev/pool/v1',
    pool: { name: 'local', namespace },
    namespaces: [namespace],
    experts: [
      { name: 'search', role: 'Generalist', engine: 'Synth', domains: ['*'], url: await servers.url('Synth') },
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
  };
}

function verifierAt(url: string): NonNullable<PoolBrief['verifier']> {
  const thresholds = { vetoBelowProbability: 0.15, warnBelowProbability: 0.35 };
  return { name: 'verifier', url, batchMax: 16, timeoutMillis: verifierMillis, whenUnavailable: 'FailClosed', ...thresholds };
}

/** The task as an API server would return it: with defaults. @throws EvalError when the API would refuse it */
export function agentTaskOf(task: PackTask, budget: AttemptBudget): AgentTask {
  const manifest = toAgentTask(task, { namespace, pool: { name: 'local', namespace }, budget: { ...budget } as AgentTaskSpec['budget'] });
  const object = structuredClone(manifest) as unknown as AgentTask;
  const fill = validators(new Ajv(ajvOptions)).AgentTask;
  if (!fill(object)) throw new EvalError(`${task.id} makes no AgentTask: ${JSON.stringify(fill.errors)}; correct the task`);
  return { ...object, metadata: { ...object.metadata, uid: `local-${object.metadata.name}` } };
}
