import { planChanged } from '../../operands/index.ts';
import {
  keyOf,
  ResourceClient,
  annotationsChanged,
  anyOf,
  Controller,
  done,
  generationChanged,
  requeueAfter,
  toController,
  watches,
  type ObjectKey,
  type Outcome,
  type ReconcileContext,
  type Source,
} from '@agentfleet/kube';
import type { EnergyModel, RolloutPolicy } from '@agentfleet/protocol/api';
import { namesPolicy, type RolloutLock, type Trials } from '../../revisions/index.ts';
import { namedBy } from '../../runtime/caches.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { isTerminating, resources } from '../../runtime/resources.ts';
import { StatusWriter } from '../expertpool/statusWriter.ts';
import { labels } from '@agentfleet/protocol/pool';
import { changeSource } from '../../runtime/heartbeats.ts';
import { verifierName } from '../../pools/names.ts';
import { infoRetryMs, isPreparing, newestReady, type InfoReader } from '../../serving/index.ts';
import { type ChildCaches, type ChildWriter, isGone, makesAnew } from '../expertpool/children.ts';
import { lostStatus } from '../expertpool/conditions.ts';
import { executePool } from '../expertpool/decide.ts';
import { NoteReader, notePollMs } from '../../serving/notes.ts';
import { judgeCalibration } from './calibration.ts';
import { decideModel, modelStatus } from './decide.ts';
import { observeModel, type ModelObserver, modelKinds } from './observe.ts';
import type { ModelSnapshot } from './snapshot.ts';
import { planModel, withModelPlan } from './rollouts.ts';

/** Dependencies of this controller besides the context. */
interface EnergyModelOptions {
  readonly children: ChildCaches;
  readonly writer: ChildWriter;
  readonly infos: InfoReader;
  readonly trials: Trials;
  readonly lock: RolloutLock;
}

/** A look without a reason. */
const idleMs = 300_000;

/** Ms after which time alone may change what is decided. */
function nextLookMs(snapshot: ModelSnapshot, now: number): number {
  const { pods, info, plan } = snapshot;
  const { staleAt = Infinity } = judgeCalibration(snapshot, now);
  const silent = info === undefined && newestReady(pods) !== undefined;
  return Math.min(
    idleMs,
    plan?.againMs ?? idleMs,
    ...(pods.some(isPreparing) ? [notePollMs] : []),
    ...(silent ? [infoRetryMs] : []),
    ...(staleAt > now ? [staleAt - now] : []),
  );
}

function sourcesOf(context: OperatorContext, children: ChildCaches): readonly Source[] {
  const { energyModels, rolloutPolicies, pods } = context.caches;
  const owner = toController(resources.energyModels, (key) => energyModels.lister.get(key));
  const ruled = (policy: RolloutPolicy): readonly ObjectKey[] =>
    energyModels.lister
      .list({ namespace: policy.metadata.namespace ?? '' })
      .filter((model) => namesPolicy(model, policy))
      .map(keyOf);
  return [
    watches<EnergyModel>(energyModels, { predicate: anyOf<EnergyModel>(generationChanged, annotationsChanged, planChanged) }),
    watches(rolloutPolicies, { map: ruled, predicate: generationChanged }),
    watches(pods, { map: (pod) => namedBy(pod, labels.model) }),
    changeSource(context.tokens, () => [...energyModels.lister.values()].map(keyOf)),
    ...modelKinds({ context, children }).map(({ cache }) => watches(cache, { map: owner })),
  ];
}

/** Keeps the pods of EnergyModels, and their status. */
export function createEnergyModelController(context: OperatorContext, options: EnergyModelOptions): Controller {
  const { children, writer, infos, trials, lock } = options;
  const { caches, clock, log, transport } = context;
  const observer: ModelObserver = { context, children, infos, notes: new NoteReader({ transport, clock, log }) };
  const status = new StatusWriter(context, resources.energyModels, caches.energyModels);
  const models = new ResourceClient<EnergyModel>(transport, resources.energyModels);
  const follow = async (model: EnergyModel, seen: ModelSnapshot, signal: AbortSignal): Promise<Outcome> => {
    const decision = decideModel(seen);
    if (makesAnew(decision.apply, seen.children) && (await isGone(models, model, signal))) return done;
    const { deployments, obstacles, refusal } = await executePool(decision, writer, signal);
    const name = verifierName(model.metadata.name, seen.plan?.serving?.revision);
    const after = { ...seen, deployment: deployments.get(name) ?? seen.deployment };
    const heldMs = await status.write(model, modelStatus(after, obstacles, clock.now()), signal);
    if (refusal !== undefined) throw refusal;
    return requeueAfter(heldMs ?? nextLookMs(after, clock.now()));
  };
  const reconcile = async (key: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const model = caches.energyModels.lister.get(key);
    if (model === undefined || model.metadata.deletionTimestamp !== undefined) return done;
    if (isTerminating(caches.namespaces.lister.get(model.metadata.namespace ?? ''))) return done;
    const snapshot = await observeModel(observer, model, signal);
    return planModel({ context, trials, lock }, snapshot, signal, async (planned) => {
      if (!('lost' in planned)) return follow(model, withModelPlan(snapshot, planned.plan), signal);
      const heldMs = await status.write(model, lostStatus(model, planned.lost, clock.now()), signal);
      return requeueAfter(heldMs ?? idleMs);
    });
  };
  return new Controller({ name: 'energymodel', sources: sourcesOf(context, children), reconcile, maxConcurrent: 4, ...context });
}
