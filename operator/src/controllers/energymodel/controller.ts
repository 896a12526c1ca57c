import {
  anyOf,
  Applier,
  Controller,
  done,
  generationChanged,
  keyOf,
  requeueAfter,
  ResourceClient,
  toController,
  versionChanged,
  watches,
} from '@agentfleet/kube';
import type { ObjectKey, Outcome, ReconcileContext, Source } from '@agentfleet/kube';
import { fieldManagers, type EnergyModel, type EnergyModelStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { OperatorContext } from '../../runtime/context.ts';
import type { Namespace, Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { infoRetryMs, isPreparing, newestReady, type InfoReader } from '../../serving/index.ts';
import type { ChildCaches } from '../expertpool/caches.ts';
import type { ChildWriter } from '../expertpool/children.ts';
import { executePool } from '../expertpool/execute.ts';
import { planChanged } from '../placement/changes.ts';
import { NoteReader, notePollMs } from '../expertpool/notes.ts';
import { isGone, makesAnew } from '../expertpool/presence.ts';
import { readyEvent } from '../expertpool/statusWriter.ts';
import { judgeCalibration } from './calibration.ts';
import { decideModel } from './decide.ts';
import { modelKinds, observeModel, type ModelObserver } from './observe.ts';
import type { ModelSnapshot } from './snapshot.ts';
import { modelStatus } from './status.ts';

/** What this controller needs beside the context. */
export interface EnergyModelOptions {
  readonly children: ChildCaches;
  readonly writer: ChildWriter;
  readonly infos: InfoReader;
}

/** A look without a reason. */
const idleMs = 300_000;

/** Whether nothing may be made in the namespace any more. */
function goes(namespace: Namespace | undefined): boolean {
  return namespace?.metadata.deletionTimestamp !== undefined || namespace?.status?.phase === 'Terminating';
}

/** Ms after which time alone may change what is decided. */
function nextLookMs(snapshot: ModelSnapshot, now: number): number {
  const { pods, info } = snapshot;
  const { staleAt = Infinity } = judgeCalibration(snapshot, now);
  const silent = info === undefined && newestReady(pods) !== undefined;
  return Math.min(
    idleMs,
    ...(pods.some(isPreparing) ? [notePollMs] : []),
    ...(silent ? [infoRetryMs] : []),
    ...(staleAt > now ? [staleAt - now] : []),
  );
}

function sourcesOf(context: OperatorContext, children: ChildCaches): readonly Source[] {
  const { energyModels, pods } = context.caches;
  const owner = toController(resources.energyModels, (key) => energyModels.lister.get(key));
  const served = ({ metadata }: Pod): readonly ObjectKey[] => {
    const name = metadata.labels?.[labels.model];
    return name === undefined ? [] : [`${metadata.namespace ?? ''}/${name}`];
  };
  return [
    watches<EnergyModel>(energyModels, { predicate: anyOf<EnergyModel>(generationChanged, planChanged) }),
    watches(pods, { map: served, predicate: versionChanged }),
    ...modelKinds({ context, children }).map(({ cache }) => watches(cache, { map: owner, predicate: versionChanged })),
  ];
}

/** Writes the status: one apply, and only when it tells something new. */
function statusWriter({ transport, caches, events }: OperatorContext) {
  const client = new ResourceClient<EnergyModel>(transport, resources.energyModels);
  const applier = new Applier({ client, view: caches.energyModels, fieldManager: fieldManagers.operator, subresource: 'status' });
  caches.energyModels.addHandler({ onDelete: (model) => applier.forget(keyOf(model)) });
  return async ({ apiVersion, kind, metadata, status: present }: EnergyModel, status: EnergyModelStatus, signal: AbortSignal) => {
    const { name, namespace = '', uid } = metadata;
    // The uid: a model of the same name that was made since is another one.
    const { written } = await applier.apply({ apiVersion, kind, metadata: { name, namespace, uid }, status }, signal);
    const event = written ? readyEvent(present, status) : undefined;
    if (event !== undefined) events.record({ apiVersion, kind, metadata }, event);
  };
}

/** Keeps the pods of EnergyModels, and their status. */
export function createEnergyModelController(context: OperatorContext, { children, writer, infos }: EnergyModelOptions): Controller {
  const { caches, clock, log, registry, transport } = context;
  const observer: ModelObserver = { context, children, infos, notes: new NoteReader({ transport, clock, log }) };
  const writeStatus = statusWriter(context);
  const models = new ResourceClient<EnergyModel>(transport, resources.energyModels);
  const reconcile = async (key: string, { signal }: ReconcileContext): Promise<Outcome> => {
    const model = caches.energyModels.lister.get(key);
    if (model === undefined || model.metadata.deletionTimestamp !== undefined) return done;
    if (goes(caches.namespaces.lister.get(model.metadata.namespace ?? ''))) return done;
    const snapshot = await observeModel(observer, model, signal);
    const decision = decideModel(snapshot);
    if (makesAnew(decision.apply, snapshot.children) && (await isGone(models, model, signal))) return done;
    const { deployments, refusal } = await executePool(decision, writer, signal);
    const after = { ...snapshot, deployment: [...deployments.values()][0] ?? snapshot.deployment };
    const obstacles = refusal === undefined ? decision.obstacles : [refusal.obstacle, ...decision.obstacles];
    await writeStatus(model, modelStatus(after, { ...decision, obstacles }, clock.now()), signal);
    if (refusal !== undefined) throw refusal.error;
    return requeueAfter(nextLookMs(after, clock.now()));
  };
  return new Controller({ name: 'energymodel', sources: sourcesOf(context, children), reconcile, maxConcurrent: 4, clock, log, registry });
}
